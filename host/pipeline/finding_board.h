#ifndef LOUPE_PIPELINE_FINDING_BOARD_H
#define LOUPE_PIPELINE_FINDING_BOARD_H

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace loupe {

/// The findings of a run: of each rule, module and parameter the last that was said. Calls come one at a time.
class FindingBoard {
 public:
  using Listener = std::function<void(const loupe_finding&)>;

  /// Takes a finding, fills in what its teller left out, and returns it as it is to be shown; null where it says
  /// nothing new. Throws Error for one without rule, message or a known severity and state.
  const loupe_finding* take(const loupe_finding& finding, uint64_t step, double epoch);
  /// Those that are not gone, in the order in which they were raised.
  std::vector<const loupe_finding*> standing() const;
  /// All, those that are gone too.
  std::vector<const loupe_finding*> all() const;
  /// Who is told of each, after the visualizers.
  void set_listener(Listener listener) { listener_ = std::move(listener); }
  const Listener& listener() const { return listener_; }

 private:
  struct Entry {
    std::unique_ptr<detail::Owned<loupe_finding>> finding;
  };
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> place_of_;  // by what tells one from another
  Listener listener_;
};

}  // namespace loupe

#endif
