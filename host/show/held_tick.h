#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>
#include <loupe/row.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace loupe {

class Visualizers;

/// Memory that is given back as a whole, or used again as a whole.
class Blocks {
 public:
  void* take(std::size_t size, std::size_t alignment);
  /// All that was taken ends.
  void clear() { place_ = used_ = 0; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };

  std::vector<Block> blocks_;
  std::size_t place_ = 0, used_ = 0;  // the block that is filled, and how far
};

/// What was told in a tick, kept to be shown later. It may hold a hundred thousand values, so that what is copied is
/// copied into blocks, without an allocation each.
class HeldTick {
 public:
  using Call = std::function<void(Visualizers&)>;  ///< what else the visualizers are told
  using Told = std::variant<loupe_row*, loupe_histogram*, Call>;

  explicit HeldTick(const loupe_tick& tick) { begin(tick); }
  /// Forgets all that was told, for a tick that uses the same memory.
  void begin(const loupe_tick& tick) {
    told_.clear();
    blocks_.clear();
    tick_ = detail::Copier(blocks_).copy(&tick);
  }

  void add(const loupe_row& row) { told_.emplace_back(detail::Copier(blocks_).copy(&row)); }
  void add(const loupe_histogram& histogram) { told_.emplace_back(detail::Copier(blocks_).copy(&histogram)); }
  void add(Call call) { told_.emplace_back(std::move(call)); }
  /// Replaces numbers by those that `other` has under the same names, and adds the rest of `other`.
  void take_over(HeldTick&& other);

  const loupe_tick& tick() const { return *tick_; }
  const std::vector<Told>& told() const { return told_; }
  /// Calls with each value, not with ranges and histograms.
  void each_value(const std::function<void(const RowValue&)>& call) const;

 private:
  Blocks blocks_;
  const loupe_tick* tick_ = nullptr;
  std::vector<Told> told_;
};

}  // namespace loupe
