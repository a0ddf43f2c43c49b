#ifndef LOUPE_PIPELINE_PREFETCH_H
#define LOUPE_PIPELINE_PREFETCH_H

#include <cstddef>

namespace loupe::detail {

/// Starts fetching memory that is about to be written. Any address will do: one that is nobody's does nothing.
inline void prefetch(const void* memory, std::size_t bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t at = 0; at < bytes; at += line) __builtin_prefetch(static_cast<const std::byte*>(memory) + at, 1);
}

}  // namespace loupe::detail

#endif
