#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace loupe {

/// Throws Error for a finding without rule or message, or with members that only the host may set.
void check_finding(const loupe_finding& finding);

/// The findings of a run: the last of each identity (source, rule, layer, parameter). Calls come one at a time.
class FindingBoard {
 public:
  /// Takes a finding with its source, fills in defaults, number and state, and returns it for display; null if it is
  /// not news. Throws like check_finding.
  const loupe_finding* add(const loupe_finding& finding, uint64_t step, double epoch);
  /// All findings, including resolved ones.
  std::vector<const loupe_finding*> all() const;

 private:
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings_;
  std::unordered_map<uint64_t, std::size_t> place_of_;  // places in the list, by the number of the finding
};

}  // namespace loupe
