#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace loupe {

/// Throws Error for a finding without rule or message, of no known severity, or with what is the host's to say.
void check_finding(const loupe_finding& finding);

/// The findings of a run: of each identity (source, rule, layer, parameter) the last one told. Calls come one at a
/// time.
class FindingBoard {
 public:
  /// Takes a finding with its source, fills in what its teller left out, number and state, and returns it as it is to
  /// be shown; null where it says nothing new. Throws what check_finding throws.
  const loupe_finding* add(const loupe_finding& finding, uint64_t step, double epoch);
  /// Those that are not gone, in the order in which they were raised.
  std::vector<const loupe_finding*> standing() const;
  /// All, those that are gone too.
  std::vector<const loupe_finding*> all() const;

 private:
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings_;
  std::unordered_map<uint64_t, std::size_t> place_of_;  // by number
};

}  // namespace loupe
