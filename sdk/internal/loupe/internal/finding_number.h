#pragma once

// Private to the host and the plugins of the same build.

#include <cstdint>
#include <string_view>

namespace loupe {

/// The number of a finding, loupe_finding::id: a hash of its identity, so that it is the same in a resumed run and in
/// each process of a run. It has 53 bits, so that readers of JSON keep it exactly; never 0.
inline std::uint64_t finding_number(std::string_view source, std::string_view rule, std::string_view layer,
                                    std::string_view parameter) {
  // FNV-1a. In a run with 100,000 findings, two have the same number with a probability of one in two million.
  constexpr std::uint64_t basis = 14695981039346656037u, prime = 1099511628211u;
  constexpr unsigned bits = 53;
  std::uint64_t hash = basis;
  const auto add = [&](char each) { hash = (hash ^ static_cast<unsigned char>(each)) * prime; };
  for (const std::string_view part : {source, rule, layer, parameter}) {
    for (const char each : part) add(each);
    add('\0');
  }
  const std::uint64_t number = (hash >> bits ^ hash) & ((std::uint64_t{1} << bits) - 1);
  return number == 0 ? 1 : number;
}

}  // namespace loupe
