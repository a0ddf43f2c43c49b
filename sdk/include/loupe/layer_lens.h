#pragma once

#include <loupe/detail/lines.h>
#include <loupe/layers.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/module_filter.h>
#include <loupe/parameters.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// A lens that shows numbers of layers: visit() says by each() what is made of which stream, and all else is here. It
/// has the options `include`, `exclude`, `line`, `range` and `record_eval`; counts NaN and Inf apart; and is shown in a
/// plot called after the component.
///
///     struct LargestOutput : loupe::LayerLens {
///       static constexpr auto name = "largest_output", help = "the largest element of each output";
///       using LayerLens::LayerLens;
///       void visit(const loupe::Module& module) override {
///         each(module, loupe::Watch("forward").measure(LOUPE_MEASURE_EXTREMES),
///              [](const loupe::Event& event) { return event.measurement().maximum; });
///       }
///     };
///     LOUPE_PLUGIN("largest_output", "1.0", LargestOutput);
class LayerLens : public Lens {
 public:
  static std::vector<Option> options() { return options_with({}); }
  LayerLens(const Options& options, const Host& host)
      : host_(host),
        filter_(options),
        lines_(options.get<Strings>("line"), options.get<Strings>("range")),
        record_eval_(options.get<bool>("record_eval")) {}

  void forget(const Module& module) override {
    for (Plot& plot : plots_) loupe::forget(plot.layers, module);
  }
  void report(Report& report) override {
    filter_.warn(host_, watches_);
    if (met_device_ && !std::exchange(has_told_device_, true)) {
      host_.warn(
          "it reads elements, and those of tensors on a device are out of its reach: they are left out. Watch::measure "
          "has the host measure them there");
    }
    for (const Plot& plot : plots_) {
      report.tag(tag_of(plot), style_of(plot));
      for (const Layer& layer : plot.layers) write(report, tag_of(plot), layer);
    }
  }
  /// What the plot without a tag of its own is called, and described by.
  void call_after(const char* name, const char* help) {
    own_tag_ = title_of(name);
    own_description_ = help;
  }

 protected:
  /// A lens's own options, then those that this class reads.
  static std::vector<Option> options_with(std::vector<Option> own) {
    return joined_options({std::move(own),
                           ModuleFilter::options(),
                           {line_option(), range_option(), {"record_eval", false, "count evaluation passes too"}}});
  }
  const Host& host() const { return host_; }
  /// Whether the options `include` and `exclude` let the lens look at the module.
  /// @param by_default  whether it looks at it where they do not say
  bool takes(const Module& module, bool by_default) {
    if (std::exchange(asked_, module.id()) != module.id()) is_taken_ = filter_.takes(module, by_default);
    return is_taken_;
  }
  /// Shows what `function` makes of each event of the stream: a number, or an optional one, of `(const Event&)`; or,
  /// with Numbers, several. It is given the tensor, or what Watch::measure asks for instead. Where takes() was not
  /// asked of this module, it looks at those without children; of a parameter, at those that have it.
  /// @param tag  the plot, where the lens has several
  template <class Function>
  void each(const Module& module, const Watch& watched, Function function, const std::string& tag = "") {
    if (!takes(module, looks_by_default(module, watched))) return;
    Request request = watched.request();
    // Gradients and parameters are there in any pass.
    const bool is_of_passes = watched.label() == nullptr;
    if (is_of_passes && !record_eval_) request.passes = LOUPE_PASS_TRAINING;
    const Series::Keep keep = lines_.need_quantiles() ? Series::Keep::quantiles : Series::Keep::running;
    const Source source = watch(module, watched, preprocessor_of(request, std::move(function), keep, &met_device_));
    const std::string name = module.name();
    const std::string label = is_of_passes ? "" : watched.label();
    const bool is_own = is_of_passes || label == "weight";
    watches_ = true;
    plot(tag).layers.emplace_back(module, source, is_own ? name : name.empty() ? label : name + "." + label);
  }
  /// How a plot looks; to be changed before the first tick.
  TagStyle& style(const std::string& tag = "") { return plot(tag).style; }
  /// What each() watches in a plot, for what a lens makes of it in its own report(): the series is called "value", or
  /// as Numbers were pushed.
  const Layers& layers(const std::string& tag = "") { return plot(tag).layers; }

 private:
  struct Plot {
    std::string tag;
    TagStyle style;
    Layers layers;
  };

  /// An attribute may be one that the module does not list.
  static bool looks_by_default(const Module& module, const Watch& watched) {
    const bool is_listed = watched.label() != nullptr && std::string_view(watched.gatherer()) != LOUPE_GATHER_ATTRIBUTE;
    if (!is_listed) return is_leaf(module);
    for (std::size_t i = 0; i < module.parameter_count(); ++i)
      if (std::string_view(module.parameter(i).name) == watched.label()) return true;
    return false;
  }

  Plot& plot(const std::string& tag) {
    for (Plot& plot : plots_) {
      if (plot.tag == tag) return plot;
    }
    Plot& made = plots_.emplace_back();
    made.tag = tag;
    made.style.annotate = true;
    return made;
  }

  std::string tag_of(const Plot& plot) const { return plot.tag.empty() ? own_tag_ : plot.tag; }
  TagStyle style_of(const Plot& plot) const {
    TagStyle style = plot.style;
    if (plot.tag.empty() && style.description.empty()) style.description = own_description_;
    return style;
  }
  void write(Report& report, const std::string& tag, const Layer& layer) {
    for (std::size_t i = 0; i < layer.source.series_count(); ++i) {
      const SeriesNumbers numbers = layer.source.read(i);
      const std::string series = numbers.name(), prefix = series == "value" ? "" : series + " ";
      lines_.write(report, tag, layer.name, numbers, prefix);
      non_finite_.write(report, prefix.empty() ? tag : tag + ", " + series, layer.name, numbers);
    }
  }

  Host host_;
  ModuleFilter filter_;
  Lines lines_;
  bool record_eval_;
  NonFinite non_finite_;
  std::string own_tag_, own_description_;
  std::deque<Plot> plots_;                                 // references to them stay good
  uint64_t asked_ = std::numeric_limits<uint64_t>::max();  ///< the module that takes() was asked of last
  bool is_taken_ = false, watches_ = false, has_told_device_ = false;
  std::atomic<bool> met_device_{false};
};

}  // namespace v1_0
}  // namespace loupe
