#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>
#include <loupe/row.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
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
  /// A copy of a text; null of null.
  const char* keep(const char* text);
  const char* const* keep(const char* const* texts, std::size_t count);
  const double* keep(const double* numbers, std::size_t count);
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

/// What was told in a tick, kept to be shown later. It may hold a hundred thousand values, so that their rows take a
/// copy in a block and no allocation.
class HeldTick {
 public:
  using Histogram = std::unique_ptr<detail::Owned<loupe_histogram>>;
  using Call = std::function<void(Visualizers&)>;  ///< what else the visualizers are told
  using Told = std::variant<loupe_row*, Histogram, Call>;

  explicit HeldTick(const loupe_tick& tick) { begin(tick); }
  /// Forgets all that was told, for a tick that uses the same memory.
  void begin(const loupe_tick& tick);

  void add(const loupe_row& row);
  void add(const loupe_histogram& histogram) {
    told_.emplace_back(std::make_unique<detail::Owned<loupe_histogram>>(histogram));
  }
  void add(Call call) { told_.emplace_back(std::move(call)); }
  /// Replaces numbers by those that `other` has under the same names, and adds the rest of `other`.
  void take_over(HeldTick&& other);

  const loupe_tick& tick() const { return tick_->get(); }
  const std::vector<Told>& told() const { return told_; }
  /// Calls with each value, not with ranges and histograms.
  void each_value(const std::function<void(const RowValue&)>& call) const;

 private:
  std::optional<detail::Owned<loupe_tick>> tick_;
  Blocks blocks_;
  std::vector<Told> told_;
};

}  // namespace loupe
