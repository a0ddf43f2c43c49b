#include "show/held_tick.h"

#include <algorithm>

namespace loupe {

void* Blocks::take(std::size_t size, std::size_t alignment) {
  constexpr std::size_t block_size = std::size_t{1} << 16;
  std::size_t at = (used_ + alignment - 1) / alignment * alignment;
  while (place_ == blocks_.size() || at + size > blocks_[place_].size) {
    at = 0;
    if (place_ < blocks_.size()) ++place_;
    if (place_ < blocks_.size()) continue;
    const std::size_t needed = std::max(size, block_size);
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[needed]), needed});  // make_unique writes zeros
  }
  used_ = at + size;
  taken_ += size;
  return blocks_[place_].bytes.get() + at;
}

}  // namespace loupe
