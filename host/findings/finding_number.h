#pragma once

#include <cstdint>
#include <string_view>

namespace loupe {

/// The number of the finding of this identity, loupe_finding::id. It is made of the identity alone, so that a run that
/// goes on in a new process, and each process of several, gives the same; of 53 bits, which JSON's readers keep; never
/// 0.
std::uint64_t finding_number(std::string_view source, std::string_view rule, std::string_view layer,
                             std::string_view parameter);

}  // namespace loupe
