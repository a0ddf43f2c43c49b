#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace loupe {

/// A copy of a struct of the ABI as far as both sides know it: what the other side's lacks is zero, and what it has
/// beyond this host's is left out, so that `struct_size` tells the next reader the truth.
template <class T>
T copy_known(const T& other) {
  if (other.struct_size >= sizeof(T)) {  // as nearly always, and then no length is unknown
    T copy = other;
    copy.struct_size = sizeof copy;
    return copy;
  }
  T copy{};
  const auto size = std::min<std::size_t>(other.struct_size, sizeof copy);
  std::memcpy(&copy, &other, size);
  copy.struct_size = static_cast<uint32_t>(size);
  return copy;
}

}  // namespace loupe
