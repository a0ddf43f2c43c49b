#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace loupe {

/// The number of a finding, loupe_finding::id: a hash of its identity, so that it is the same in a resumed run and in
/// each of several processes. 53 bits, which readers of JSON keep; never 0.
std::uint64_t finding_number(std::string_view source, std::string_view rule, std::string_view layer,
                             std::string_view parameter);

/// Throws Error for a finding without rule or message, or with members that only the host may set.
void check_finding(const loupe_finding& finding);

/// The findings of a run: the last of each identity (source, rule, layer, parameter). Calls come one at a time.
class FindingBoard {
 public:
  /// Takes a finding with its source, fills in defaults, number and state, and returns it for display; null if it is
  /// not news. Throws like check_finding.
  const loupe_finding* add(const loupe_finding& finding, uint64_t step, double epoch);
  /// Those that are not gone, in the order they were raised.
  std::vector<const loupe_finding*> standing() const;
  /// All, including those that are gone.
  std::vector<const loupe_finding*> all() const;

 private:
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings_;
  std::unordered_map<uint64_t, std::size_t> place_of_;  // by number
};

}  // namespace loupe
