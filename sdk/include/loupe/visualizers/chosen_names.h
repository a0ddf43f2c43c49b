#pragma once

#include <loupe/detail/wanted_names.h>

#include <string>
#include <utility>

namespace loupe {
inline namespace v1_0 {

/// Of the names that a visualizer is told, those that an option's patterns choose; all of them where it is empty. A
/// pattern that has fitted nothing after a few ticks is told once, with what there is, since a misspelt one would show
/// nothing and say nothing.
class ChosenNames {
 public:
  /// @param option its name, for the user  @param things what it names: "tag", "layer"
  ChosenNames(std::string option, std::string things, const Strings& patterns)
      : patterns_(std::move(option), std::move(things), patterns) {}

  bool takes(const std::string& name) {
    if (patterns_.empty()) return true;
    came_ = true;
    if (!told_) patterns_.offer(name);
    return patterns_.match([&](const std::string& pattern) { return fits_glob(pattern, name); });
  }
  /// What comes in some ticks only, such as a layer that seldom runs, has time to come.
  void end_tick(const Host& host) {
    constexpr int enough = 3;
    if (std::exchange(came_, false) && ++ticks_ >= enough) end(host);
  }
  void end(const Host& host) {
    if (ticks_ == 0 || std::exchange(told_, true)) return;
    patterns_.warn(host);
  }

 private:
  WantedNames patterns_;
  int ticks_ = 0;  ///< with names
  bool came_ = false, told_ = false;
};

}  // namespace v1_0
}  // namespace loupe
