#ifndef LOUPE_PIPELINE_FINDING_BOARD_H
#define LOUPE_PIPELINE_FINDING_BOARD_H

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace loupe {

/// Throws Error for a finding without rule, message or a known severity and state.
void check_finding(const loupe_finding& finding);

/// The findings of a run: for each rule, module and parameter the last one told. Calls come one at a time.
class FindingBoard {
 public:
  /// Takes a finding, fills in what its teller left out, and returns it as it is to be shown; null where it says
  /// nothing new. Throws what check_finding throws.
  const loupe_finding* add(const loupe_finding& finding, uint64_t step, double epoch);
  /// Those that are not gone, in the order in which they were raised.
  std::vector<const loupe_finding*> standing() const;
  /// All, those that are gone too.
  std::vector<const loupe_finding*> all() const;

 private:
  struct Entry {
    std::unique_ptr<detail::Owned<loupe_finding>> finding;
  };
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> place_of_;  // by what tells one from another
};

}  // namespace loupe

#endif
