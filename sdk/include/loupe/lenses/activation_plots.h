#pragma once

#include <loupe/detail/lines.h>
#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The plots of lenses whose preprocessor gives the series `activation` and `death`: each layer's rates, and the worst
/// of all layers.
class ActivationPlots {
 public:
  static std::vector<Option> options() {
    return {
        inplace_option(),
        {"warning_plot", true, "also show the worst rates of all layers"},
        {"activation_aggregation", "mean", "how an epoch's activation rates become one number", aggregation_names()},
        {"death_aggregation", "mean", "how an epoch's death rates become one number", aggregation_names()}};
  }

  /// @param warning_tag the title of the plot of the worst rates
  ActivationPlots(const Options& options, std::string warning_tag)
      : inplace_(options.get<bool>("inplace")),
        warning_plot_(options.get<bool>("warning_plot")),
        activation_(aggregation_from(options.get<std::string>("activation_aggregation"))),
        death_(aggregation_from(options.get<std::string>("death_aggregation"))),
        warning_tag_(std::move(warning_tag)) {}

  bool inplace() const { return inplace_; }
  bool need_quantiles() const { return is_quantile(activation_) || is_quantile(death_); }

  void introduce(Report& report, const std::string& tag, const Explanation& words = {}) const {
    report.tag(tag, explained(style(false), words));
  }
  void introduce_warnings(Report& report) const {
    if (warning_plot_) report.tag(warning_tag_, explained(style(true), worst_explained()));
  }

  void write(Report& report, const std::string& tag, const Layers& layers) {
    const std::string activation_line = "activation_rate", death_line = "death_rate";
    for (const Layer& layer : layers) {
      const auto active = layer.source.find(LOUPE_SERIES_ACTIVATION), dead = layer.source.find(LOUPE_SERIES_DEATH);
      const auto activation = write_rate(report, tag, layer, active, activation_line, activation_);
      const auto death = write_rate(report, tag, layer, dead, death_line, death_);
      if (activation) worst_activation_ = std::fmin(worst_activation_, *activation);
      if (death) worst_death_ = std::fmax(worst_death_, *death);
      if (active) non_finite_.write(report, tag, layer.name, *active);
    }
  }
  /// Call it last: writes the worst rates since the last call.
  void write_warnings(Report& report) {
    Report::Row worst(report);
    if (!std::isnan(worst_activation_)) worst.value("worst activation_rate", worst_activation_);
    if (!std::isnan(worst_death_)) worst.value("worst death_rate", worst_death_);
    if (warning_plot_) worst.tell(warning_tag_);
    worst_activation_ = worst_death_ = NAN;
  }

 private:
  static std::optional<double> write_rate(Report& report, const std::string& tag, const Layer& layer,
                                          const std::optional<SeriesNumbers>& numbers, const std::string& line,
                                          Aggregate aggregation) {
    const auto rate = numbers ? numbers->get(aggregation) : std::nullopt;
    if (rate) report.value(tag, layer.name, line, *rate, numbers->count());
    return rate;
  }
  static Explanation worst_explained() {
    return {"The lowest activation_rate and the highest death_rate of all layers, each a share from 0 to 1.",
            "A worst death rate below 0.1, and both lines level.",
            "Find the layer in the plots of single layers, which also say what helps against dead units."};
  }
  static TagStyle style(bool big) {
    TagStyle style;
    style.type = LOUPE_SCALE_PROBABILITY;
    style.annotate = true;
    style.big = big;
    return style;
  }

  bool inplace_, warning_plot_;
  Aggregate activation_, death_;
  std::string warning_tag_;
  double worst_activation_ = NAN, worst_death_ = NAN;
  NonFinite non_finite_;
};

}  // namespace v1_0
}  // namespace loupe
