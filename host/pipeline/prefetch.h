#ifndef LOUPE_PIPELINE_PREFETCH_H
#define LOUPE_PIPELINE_PREFETCH_H

#include <cstddef>

namespace loupe::detail {

/// Starts fetching memory that is about to be written. Invalid addresses are harmless.
inline void prefetch(const void* memory, std::size_t bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t at = 0; at < bytes; at += line) __builtin_prefetch(static_cast<const std::byte*>(memory) + at, 1);
}

}  // namespace loupe::detail

#endif
