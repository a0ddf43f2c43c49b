#pragma once

#include <loupe/detail/keyed_list.h>

#include <cstdint>
#include <string>
#include <vector>

#include "record/reader/record_line.h"

namespace loupe::replay {

/// What a record says was wrong: of each number the last, and how bad it ever was.
class FindingHistory {
 public:
  struct Entry {
    RecordLine last;                   ///< of what is gone, with the words from when it stood
    std::uint32_t worst_severity = 0;  ///< LOUPE_SEVERITY_, but for what was taken back while it stood
    std::uint32_t before = 0;          ///< the same of the times when it stood before
    bool gone = false;

    /// "conv1.weight"; empty where it concerns no one layer.
    std::string place() const;
  };

  /// Takes a line of the kind `finding`.
  void take(const RecordLine& line);
  /// A finding open at a tick was true up to it: a run reports it again only if it changes.
  void end_tick(const RecordLine& tick);
  /// The run goes on in a new process, which reports again what is still wrong: everything else is resolved.
  void go_on();
  /// The worst first, of equals those that stand; of one rule the layer that lies farthest beyond what is allowed.
  std::vector<const Entry*> worst_first() const;
  /// The first of these that stands, or else the first: what stands is worse than what is over, whatever it was. Null
  /// without any.
  const Entry* worst() const;
  /// "1 error, 2 warnings (1 resolved)"; "no findings" without any.
  std::string counts() const;
  bool empty() const { return entries_.empty(); }

 private:
  detail::KeyedList<Entry, std::uint64_t> entries_;  // by number
};

}  // namespace loupe::replay
