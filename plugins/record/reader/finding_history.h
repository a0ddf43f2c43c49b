#pragma once

#include <loupe/detail/keyed_list.h>

#include <cstdint>
#include <string>
#include <vector>

#include "record/reader/record_line.h"

namespace loupe::replay {

/// The findings of a record: the last line of each, and its worst severity.
class FindingHistory {
 public:
  struct Entry {
    RecordLine last;                   ///< for a resolved finding, with the message from when it was open
    std::uint32_t worst_severity = 0;  ///< LOUPE_SEVERITY_, without severities that were taken back while it was open
    std::uint32_t before = 0;          ///< the worst severity of earlier times when it was open
    bool gone = false;

    /// "conv1.weight"; "" if it concerns no single layer
    std::string place() const;
  };

  /// Takes a line of the kind `finding`.
  void take(const RecordLine& line);
  /// An open finding is true up to each tick, because a run reports it again only if it changes.
  void end_tick(const RecordLine& tick);
  /// The run continues in a new process, which reports again what is still wrong: all other findings are resolved.
  void go_on();
  /// Worst first: by severity, then open before resolved, then by rule, then by distance from the threshold.
  std::vector<const Entry*> worst_first() const;
  /// The worst open finding, or the worst resolved one if none is open. Null if there are no findings.
  const Entry* worst() const;
  /// "1 error, 2 warnings (1 resolved)"; "no findings" if there are none.
  std::string counts() const;
  bool empty() const { return entries_.empty(); }

 private:
  detail::KeyedList<Entry, std::uint64_t> entries_;  // by number
};

}  // namespace loupe::replay
