#pragma once

#include <loupe/lenses/explanation.h>
#include <loupe/lenses/series_lens.h>

#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// A lens with the plots "… Norm" and "… Correlation", whose preprocessor gives the series `norm` and `correlation`.
class GeometryLens : public SeriesLens {
 public:
  static std::vector<Option> options() {
    return {
        inplace_option(),
        {"normalize_by_size", false, "divide a norm by the square root of the number of elements"},
        {"log_scale", false, "show norms on a logarithmic axis"},
        {"compute_correlation", true, "also show the correlation with the previous event; keeps a copy of it"},
        {"correlation_eps", 0.0,
         "added to the product of norms in a correlation's divisor; it pulls correlations of small norms to 0", 0.0},
        {"first_correlation", false, "count the first event, which has no predecessor, as correlation 0"},
        line_option(),
        range_option()};
  }

 protected:
  /// @param title  the title of the quantity, for example "Output Gradient"
  GeometryLens(const Options& options, const Host& host, Of of, const std::string& title, Explanation of_norm,
               const Explanation& of_correlation)
      : SeriesLens(options, host, of) {
    const bool normalizes = options.get<bool>("normalize_by_size"),
               correlates = options.get<bool>("compute_correlation");
    const Lines lines(options.get<Strings>("line"), options.get<Strings>("range"));
    preprocessor_options_ = {{"inplace", options.get<bool>("inplace")},
                             {"quantiles", lines.need_quantiles()},
                             {"normalize", normalizes},
                             {"correlation", correlates},
                             {"eps", options.get<double>("correlation_eps")},
                             {"first", options.get<bool>("first_correlation")}};
    of_norm.description += size_explained(normalizes);
    TagStyle norm = explained(TagStyle(), of_norm), correlation = explained(TagStyle(), of_correlation);
    norm.log_y = options.get<bool>("log_scale");
    norm.annotate = correlation.annotate = true;
    correlation.y_minimum = -1;
    correlation.y_maximum = 1;
    add_plot({title + " Norm", LOUPE_SERIES_NORM, lines, norm});
    if (correlates) add_plot({title + " Correlation", LOUPE_SERIES_CORRELATION, lines, correlation});
  }
  const OptionValues& preprocessor_options() const { return preprocessor_options_; }

 private:
  OptionValues preprocessor_options_;
};

}  // namespace v1_0
}  // namespace loupe
