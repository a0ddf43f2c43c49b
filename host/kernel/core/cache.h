#pragma once

#include <cstddef>
#include <cstdint>

namespace loupe {

inline constexpr std::size_t cache_line = 64;  // where lines are longer, the same one may be fetched twice

/// Fetches the memory from `begin` up to `end` into the caches, to be written, without waiting for it. Safe for memory
/// that was freed.
inline void fetch_lines(const void* begin, const void* end) {
  auto line = reinterpret_cast<std::uintptr_t>(begin) / cache_line * cache_line;
  for (; line < reinterpret_cast<std::uintptr_t>(end); line += cache_line)
    __builtin_prefetch(reinterpret_cast<const void*>(line), 1);
}
inline void fetch_lines(const void* begin, std::size_t bytes) {
  fetch_lines(begin, reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(begin) + bytes));
}

}  // namespace loupe
