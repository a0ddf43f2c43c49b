#ifndef LOUPE_SHOW_HELD_TICK_H
#define LOUPE_SHOW_HELD_TICK_H

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

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

/// What was told in a tick, kept to be shown later. It may hold a hundred thousand values, so that these take a copy in
/// a block and no allocation.
class HeldTick {
 public:
  using Histogram = std::unique_ptr<detail::Owned<loupe_histogram>>;
  using Call = std::function<void(Visualizers&)>;  ///< what else the visualizers are told
  using Told = std::variant<const loupe_value*, const loupe_range*, Histogram, Call>;

  explicit HeldTick(const loupe_tick& tick) { begin(tick); }
  /// Forgets all that was told, for a tick that uses the same memory.
  void begin(const loupe_tick& tick);

  void add(const loupe_value& value) { add_copy<&loupe_value::tag, &loupe_value::layer, &loupe_value::line>(value); }
  void add(const loupe_range& range) {
    add_copy<&loupe_range::tag, &loupe_range::layer, &loupe_range::low_name, &loupe_range::high_name>(range);
  }
  void add(const loupe_histogram& histogram) {
    told_.emplace_back(std::make_unique<detail::Owned<loupe_histogram>>(histogram));
  }
  void add(Call call) { told_.emplace_back(std::move(call)); }
  /// What `other` has of a line takes the place of what this has of it; lines that this lacks are added.
  void take_over(HeldTick&& other);

  const loupe_tick& tick() const { return tick_->get(); }
  const std::vector<Told>& told() const { return told_; }
  /// Calls with each value, not with ranges and histograms.
  void each_value(const std::function<void(const loupe_value&)>& call) const;

 private:
  template <auto... texts, class T>
  void add_copy(const T& shown) {
    auto* const copy = new (blocks_->take(sizeof(T), alignof(T))) T(detail::known_part(shown));
    ((copy->*texts = blocks_->keep(copy->*texts)), ...);
    told_.emplace_back(std::in_place_type<const T*>, copy);
  }

  std::optional<detail::Owned<loupe_tick>> tick_;
  std::unique_ptr<Blocks> blocks_ = std::make_unique<Blocks>();
  std::vector<std::unique_ptr<Blocks>> others_;  // of ticks that were taken over
  std::vector<Told> told_;
};

}  // namespace loupe

#endif
