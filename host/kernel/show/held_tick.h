#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace loupe {

class ShownVisualizer;

/// Memory that is freed or reused only as a whole.
class Blocks {
 public:
  void* take(std::size_t size, std::size_t alignment) {
    taken_ += size + alignment - 1;
    return blocks_->allocate(size, alignment);
  }
  /// Frees everything that was taken. From now on one block is large enough for the same amount.
  void clear() {
    if (taken_ > first_size_) {
      first_.reset(new std::byte[taken_]);  // make_unique writes zeros
      first_size_ = taken_;
    }
    blocks_.emplace(first_.get(), first_size_);
    taken_ = 0;
  }
  std::size_t taken() const { return taken_; }

 private:
  std::unique_ptr<std::byte[]> first_;
  std::size_t first_size_ = 0, taken_ = std::size_t{1} << 16;  // initially the size of a small tick
  std::optional<std::pmr::monotonic_buffer_resource> blocks_;
};

/// The messages of a tick, kept to show later. There may be a hundred thousand values, so they are copied into blocks,
/// without an allocation each.
class HeldTick {
 public:
  using Call = std::function<void(ShownVisualizer&)>;  ///< a message to each visualizer; several threads call it
  using Told = std::variant<loupe_row*, loupe_histogram*, Call>;

  // The most that may wait for one visualizer: 64 small ticks, or 4 large ones.
  static constexpr std::size_t most_waiting = 64, most_bytes = std::size_t{64} << 20;

  explicit HeldTick(const loupe_tick& tick) { begin(tick); }
  /// Forgets all messages, for a new tick in the same memory.
  void begin(const loupe_tick& tick) {
    told_.clear();
    blocks_.clear();
    tick_ = detail::Copier(blocks_).copy(&tick);
  }

  void add(const loupe_row& row) { told_.emplace_back(detail::Copier(blocks_).copy(&row)); }
  void add(const loupe_histogram& histogram) { told_.emplace_back(detail::Copier(blocks_).copy(&histogram)); }
  void add(Call call) { told_.emplace_back(std::move(call)); }

  /// Its share of `most_bytes`.
  std::size_t weight() const {
    return std::clamp(blocks_.taken() + told_.size() * sizeof(Told), most_bytes / most_waiting, most_bytes / 4);
  }

  const loupe_tick& tick() const { return *tick_; }
  const std::vector<Told>& told() const { return told_; }
  std::vector<Told>& told() { return told_; }

 private:
  Blocks blocks_;
  const loupe_tick* tick_ = nullptr;
  std::vector<Told> told_;
};

}  // namespace loupe
