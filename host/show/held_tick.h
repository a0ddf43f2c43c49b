#ifndef LOUPE_SHOW_HELD_TICK_H
#define LOUPE_SHOW_HELD_TICK_H

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace loupe {

/// What lenses reported at a tick, kept to be shown later.
class HeldTick {
 public:
  using Told = std::variant<std::unique_ptr<detail::Owned<loupe_value>>, std::unique_ptr<detail::Owned<loupe_range>>,
                            std::unique_ptr<detail::Owned<loupe_histogram>>>;

  explicit HeldTick(const loupe_tick& tick) : tick_(tick) {}

  template <class T>
  void add(const T& told) {
    told_.emplace_back(std::make_unique<detail::Owned<T>>(told));
  }
  /// What `other` has of a line takes the place of what this has of it; lines that this lacks are added.
  void take_over(HeldTick&& other);

  const loupe_tick& tick() const { return tick_.get(); }
  const std::vector<Told>& told() const { return told_; }
  /// Calls with each value, not with ranges and histograms.
  void each_value(const std::function<void(const loupe_value&)>& call) const;

 private:
  detail::Owned<loupe_tick> tick_;
  std::vector<Told> told_;
};

}  // namespace loupe

#endif
