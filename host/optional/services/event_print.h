#pragma once

#include <loupe/abi.h>

#include <cstdint>

namespace loupe {

/// Hashes the tensors that an event lends. A hash that differs after a call shows that the called component wrote to
/// them. Takes elements in CPU memory, all of a small tensor, and each tensor's version. 0 if other threads may write
/// meanwhile.
/// @param version  returns how often a tensor was changed in place; may be null
uint64_t print_of(const loupe_event& event, uint64_t (*version)(const loupe_tensor& tensor));

}  // namespace loupe
