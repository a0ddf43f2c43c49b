#pragma once

#include <cstddef>
#include <cstdint>

namespace loupe {

inline constexpr std::size_t cache_line = 64;  // longer lines may be fetched twice

/// Prefetches the memory from `begin` up to `end` into the caches for writing. Safe for memory that was freed.
inline void fetch_lines(const void* begin, const void* end) {
  auto line = reinterpret_cast<std::uintptr_t>(begin) / cache_line * cache_line;
  for (; line < reinterpret_cast<std::uintptr_t>(end); line += cache_line)
    __builtin_prefetch(reinterpret_cast<const void*>(line), 1);
}
inline void fetch_lines(const void* begin, std::size_t bytes) {
  fetch_lines(begin, reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(begin) + bytes));
}

}  // namespace loupe
