#pragma once

#include <loupe/detail/lines.h>
#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>

#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The plots "… Norm" and "… Correlation" of lenses whose preprocessor gives the series `norm` and `correlation`.
class GeometryPlots {
 public:
  static std::vector<Option> options() {
    return {inplace_option(),
            {"normalize_by_size", false, "divide a norm by the square root of the number of elements"},
            {"log_scale", false, "show norms on a logarithmic axis"},
            {"compute_correlation", true, "also show the correlation with the event before; keeps a copy of it"},
            {"correlation_eps", 0.0,
             "added to the product of norms that a correlation is divided by; it pulls those of small norms to 0", 0.0},
            {"first_correlation", false, "count the first event, which has none before it, as correlation 0"},
            line_option(),
            range_option()};
  }

  explicit GeometryPlots(const Options& options)
      : inplace_(options.get<bool>("inplace")),
        normalize_(options.get<bool>("normalize_by_size")),
        log_scale_(options.get<bool>("log_scale")),
        correlation_(options.get<bool>("compute_correlation")),
        epsilon_(options.get<double>("correlation_eps")),
        counts_first_(options.get<bool>("first_correlation")),
        lines_(options.get<Strings>("line"), options.get<Strings>("range")) {}

  OptionValues preprocessor_options() const {
    return {{"inplace", inplace_},     {"quantiles", lines_.need_quantiles()},
            {"normalize", normalize_}, {"correlation", correlation_},
            {"eps", epsilon_},         {"first", counts_first_}};
  }

  /// @param title of what is shown, such as "Weight Gradient"
  void introduce(Report& report, const std::string& title, Explanation of_norm = {},
                 const Explanation& of_correlation = {}) const {
    if (!of_norm.description.empty()) of_norm.description += size_explained(normalize_);
    TagStyle norm = explained(TagStyle(), of_norm);
    norm.log_y = log_scale_;
    norm.annotate = true;
    report.tag(title + " Norm", norm);
    if (correlation_) {
      TagStyle correlation = explained(TagStyle(), of_correlation);
      correlation.annotate = true;
      correlation.y_minimum = -1;
      correlation.y_maximum = 1;
      report.tag(title + " Correlation", correlation);
    }
  }

  void write(Report& report, const std::string& title, const Layers& layers) {
    const std::string norm_tag = title + " Norm", correlation_tag = title + " Correlation";
    for (const Layer& layer : layers) {
      const auto norm = layer.source.find(LOUPE_SERIES_NORM);
      if (norm) lines_.write(report, norm_tag, layer.name, *norm);
      const auto correlation = correlation_ ? layer.source.find(LOUPE_SERIES_CORRELATION) : std::nullopt;
      if (correlation) lines_.write(report, correlation_tag, layer.name, *correlation);
      if (norm) non_finite_.write(report, norm_tag, layer.name, *norm);
    }
  }

 private:
  bool inplace_, normalize_, log_scale_, correlation_;
  double epsilon_;
  bool counts_first_;
  Lines lines_;
  NonFinite non_finite_;
};

}  // namespace v1_0
}  // namespace loupe
