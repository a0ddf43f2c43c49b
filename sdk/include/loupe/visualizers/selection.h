#pragma once

#include <loupe/detail/wanted_names.h>
#include <loupe/options.h>
#include <loupe/visualizer.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The names that an option's patterns choose; all if it is empty. Warns once of a pattern that has matched nothing
/// after a few ticks, and lists the known names: a misspelt one would silently show nothing.
class ChosenNames {
 public:
  /// @param option the option's name, for messages  @param things what its values name: "tag", "layer"
  ChosenNames(std::string option, std::string things, const Strings& patterns)
      : patterns_(std::move(option), std::move(things), patterns) {}

  bool takes(const std::string& name) {
    if (patterns_.empty()) return true;
    came_ = true;
    if (!told_) patterns_.offer(name);
    return patterns_.match([&](const std::string& pattern) { return fits_glob(pattern, name); });
  }
  /// Names that come only in some ticks, for example of a layer that seldom runs, get time to appear.
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
  int ticks_ = 0;  ///< ticks that had names
  bool came_ = false, told_ = false;
};

/// Selects rows and histograms for a visualizer, by its options `tags`, `layers` and `every`. Findings, notes and other
/// rare messages always come. Warns of patterns that match nothing.
class Selection {
 public:
  static std::vector<Option> options() {
    return {{"tags", Strings{}, "which tags to take, as patterns such as \"*Norm\"; all if empty"},
            {"layers", Strings{}, "which layers to take, as patterns such as \"encoder.*\"; all if empty"},
            every_option()};
  }
  static Option every_option() { return {"every", 1, "take the first tick and each n-th after it", 1, 1e9}; }

  Selection(const Options& options, const Host& host)
      : host_(host),
        tags_("tags", "tag", options.get<Strings>("tags")),
        layers_("layers", "layer", options.get<Strings>("layers")),
        every_(options.get<uint64_t>("every")) {}

  /// A run begins; its first tick is taken.
  void begin() { ticks_ = 0; }
  /// Whether the tick that begins is taken; call it once for each tick.
  bool begin_tick() { return is_taken_ = ticks_++ % every_ == 0; }
  /// The answer for the current tick.
  bool is_taken() const { return is_taken_; }

  /// Whether a row or histogram of the tick is taken. A plot of the whole model has no layer.
  template <class Row>
  bool takes(const Row& row) {
    if (!is_taken_) return false;
    const bool fits_tags = tags_.takes(row.tag), fits_layers = row.layer == nullptr || layers_.takes(row.layer);
    return fits_tags && fits_layers;
  }
  void end_tick() {
    tags_.end_tick(host_);
    layers_.end_tick(host_);
  }
  /// The run is over.
  void end() {
    tags_.end(host_);
    layers_.end(host_);
  }

 private:
  Host host_;
  ChosenNames tags_, layers_;
  uint64_t every_;
  uint64_t ticks_ = 0;
  bool is_taken_ = true;
};

/// A visualizer's own options, then those of its Selection.
inline std::vector<Option> with_selection(std::vector<Option> own) {
  for (Option& option : Selection::options()) own.push_back(std::move(option));
  return own;
}

}  // namespace v1_0
}  // namespace loupe
