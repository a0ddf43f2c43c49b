#pragma once

#include <loupe/detail/lines.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/parameters.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// A lens that shows series of a named preprocessor, for modules or their parameters. The subclass fills in the plots,
/// and watches with look_at() in visit(). Its options include those of ModuleFilter, or of Parameters.
class SeriesLens : public Lens {
 public:
  enum class Of { modules, parameters };

  void forget(const Module& module) override {
    loupe::forget(layers_, module);
    if (parameters_) parameters_->forget(module);
  }
  void report(Report& report) override {
    each_role([&](const std::string& role, const Layers&) {
      for (const Plot& plot : plots_) report.tag(role + plot.title, plot.style);
    });
    each_role([&](const std::string& role, const Layers&) {
      if (comparison_) Comparison::introduce(report, role + comparison_->title, comparison_->what);
    });
    if (parameters_) parameters_->warn(host_);
    if (filter_) filter_->warn(host_, filter_->has_taken());
    each_role([&](const std::string& role, const Layers& layers) { write(report, role, layers); });
  }

 protected:
  struct Plot {
    std::string title;  ///< for parameters, the text after "Weight " and "Bias "
    const char* series;
    Lines lines;
    TagStyle style;
  };
  /// A further plot, of each layer's share in the sum of the first plot's series.
  struct ComparisonPlot {
    std::string title, what;
    Aggregate aggregation;
  };

  SeriesLens(const Options& options, const Host& host, Of of) : host_(host) {
    if (of == Of::modules) filter_.emplace(options);
    if (of == Of::parameters) parameters_.emplace(options);
  }
  void add_plot(Plot plot) { plots_.push_back(std::move(plot)); }
  void compare(ComparisonPlot plot) { comparison_ = std::move(plot); }

  /// Watches a module if the options select it.
  /// @param by_default  whether it is watched if they do not decide
  void look_at(const Module& module, bool by_default, const Watch& watched) {
    if (filter_->takes(module, by_default)) layers_.emplace_back(module, watch(module, watched));
  }
  /// Watches the parameters of a module that the options name.
  /// @param watched  without a label
  void look_at_parameters(const Module& module, Watch watched) {
    parameters_->visit(module, [&](const char* parameter) { return watch(module, watched.label(parameter)); });
  }

 private:
  template <class Use>
  void each_role(Use&& use) const {
    if (!parameters_) return use(std::string(), layers_);
    for (const Parameters::Role& role : *parameters_) use(role.title + " ", role.layers);
  }
  void write(Report& report, const std::string& role, const Layers& layers) {
    for (const Layer& layer : layers) {
      for (const Plot& plot : plots_) {
        const auto numbers = layer.source.find(plot.series);
        if (numbers) plot.lines.write(report, role + plot.title, layer.name, *numbers);
      }
      const auto first = layer.source.find(plots_.front().series);
      if (first) non_finite_.write(report, role + plots_.front().title, layer.name, *first);
    }
    if (!comparison_) return;
    Comparison::write(report, role + comparison_->title, layers, plots_.front().series, comparison_->aggregation);
  }

  Host host_;
  std::optional<ModuleFilter> filter_;
  std::optional<Parameters> parameters_;
  Layers layers_;  // of modules
  std::vector<Plot> plots_;
  std::optional<ComparisonPlot> comparison_;
  NonFinite non_finite_;
};

}  // namespace v1_0
}  // namespace loupe
