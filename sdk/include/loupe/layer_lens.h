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

/// A lens that shows numbers of layers: visit() defines by each() how streams become numbers, and this class does the
/// rest. It has the options `include`, `exclude`, `line`, `range` and `record_eval`, counts NaN and Inf separately, and
/// shows a plot named after the component.
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
          "it reads elements, and cannot read those of tensors on a device, which are left out. With Watch::measure "
          "the "
          "host measures them there");
    }
    for (const Plot& plot : plots_) {
      report.tag(tag_of(plot), style_of(plot));
      for (const Layer& layer : plot.layers) write(report, tag_of(plot), layer);
    }
  }
  /// Sets the name and description of the plot without a tag.
  void call_after(const char* name, const char* help) {
    own_tag_ = title_of(name);
    own_description_ = help;
  }

 protected:
  /// A lens's own options, then those of this class.
  static std::vector<Option> options_with(std::vector<Option> own) {
    return joined_options({std::move(own),
                           ModuleFilter::options(),
                           {line_option(), range_option(), {"record_eval", false, "count evaluation passes too"}}});
  }
  const Host& host() const { return host_; }
  /// Whether the options `include` and `exclude` select the module.
  /// @param by_default  the answer if they do not decide
  bool takes(const Module& module, bool by_default) {
    asked_ = module.id();
    return is_taken_ = filter_.takes(module, by_default);
  }
  /// Shows the result of `function` for each event of the stream: it takes `(const Event&)` and returns a number or an
  /// optional one; or, with Numbers, several. The event has the tensor, or the measures from Watch::measure. If takes()
  /// was not called for this module, modules without children are watched; for a parameter, those that have it.
  /// @param tag  the plot, if the lens has several
  template <class Function>
  void each(const Module& module, const Watch& watched, Function function, const std::string& tag = "") {
    const bool is_wanted = asked_ == module.id() ? is_taken_ : filter_.takes(module, looks_by_default(module, watched));
    if (!is_wanted) return;
    Request request = watched.request();
    // Gradients and parameters exist in any pass.
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
  /// The style of a plot; change it before the first tick.
  TagStyle& style(const std::string& tag = "") { return plot(tag).style; }
  /// The layers that each() watches in a plot, for a lens's own report(): the series is called "value", or has the name
  /// pushed to Numbers.
  const Layers& layers(const std::string& tag = "") { return plot(tag).layers; }

 private:
  struct Plot {
    std::string tag;
    TagStyle style;
    Layers layers;
  };

  /// The module may not list an attribute.
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
  std::deque<Plot> plots_;                                 // references to them stay valid
  uint64_t asked_ = std::numeric_limits<uint64_t>::max();  ///< the module of the last call of takes()
  bool is_taken_ = false, watches_ = false, has_told_device_ = false;
  std::atomic<bool> met_device_{false};
};

}  // namespace v1_0
}  // namespace loupe
