#ifndef LOUPE_HISTOGRAMS_HISTOGRAM_H
#define LOUPE_HISTOGRAMS_HISTOGRAM_H

#include <loupe/plugin.h>

#include <cmath>
#include <vector>

namespace loupe {

/// Counts elements by sign and magnitude over an epoch. Its series: `bins`, whose values are the counts in the order of
/// loupe_measurement.bins, and `elements`, the number of elements of each event, NaN or Inf where one of them is.
class MagnitudeHistogram : public Preprocessor {
 public:
  static constexpr const char* name = "histogram";
  static constexpr const char* help = "how many elements there are of each sign and magnitude, a bin for each factor 2";
  static std::vector<Option> options() {
    return {{"record_eval", false, "count evaluation passes too"},
            {"evaluation_from_grad", false,
             "a pass is an evaluation when gradients are off, rather than when the module is in eval mode"}};
  }
  explicit MagnitudeHistogram(const Options& options)
      : bins_(add_series("bins", Series::Keep::values)), elements_(add_series("elements")) {
    request_.measures = LOUPE_MEASURE_HISTOGRAM;
    request_.passes = options.get<bool>("record_eval") ? LOUPE_PASS_BOTH : LOUPE_PASS_TRAINING;
    request_.pass_by_grad = options.get<bool>("evaluation_from_grad");
  }

  Request request() const override { return request_; }

  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement();
    if ((measurement.measures & LOUPE_MEASURE_HISTOGRAM) == 0 || measurement.numel == 0) return;
    bins_.add(measurement.bins, LOUPE_HISTOGRAM_BINS);
    elements_.push(measurement.nan_count != 0   ? NAN
                   : measurement.inf_count != 0 ? INFINITY
                                                : static_cast<double>(measurement.numel));
  }

 private:
  Series& bins_;
  Series& elements_;
  Request request_;
};

}  // namespace loupe

#endif
