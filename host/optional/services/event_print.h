#pragma once

#include <loupe/abi.h>

#include <cstdint>

namespace loupe {

/// A hash of what an event lends, which shows that the component that is called with it wrote there: of some elements
/// in CPU memory, all of a small tensor, and of how often each tensor was changed. 0 where others may write meanwhile.
/// @param version  how often a tensor was changed in place; may be null
uint64_t print_of(const loupe_event& event, uint64_t (*version)(const loupe_tensor& tensor));

}  // namespace loupe
