#pragma once

#include <loupe/plugin.h>

#include <cmath>
#include <string>
#include <vector>

namespace loupe {

/// Counts elements by sign and magnitude over an epoch. Its series: `bins`, whose values are the counts, `edges`, whose
/// values are the ascending edges of the bins, one more than there are bins, and `elements`, the number of elements of
/// each event, NaN or Inf where one of them is.
class MagnitudeHistogram : public Preprocessor {
 public:
  static constexpr const char* name = "histogram";
  static constexpr const char* help = "how many elements there are of each sign and magnitude, a bin for each factor 2";
  static std::vector<const char*> gives() {
    return {"bins: how many elements there were in each bin",
            "edges: the bins' ascending edges, one more than there are bins",
            "elements: how many elements each event had; NaN or Inf where one of them was"};
  }
  static constexpr const char* example = "pipeline: {gather: input_gradient, preprocess: histogram, series: elements}";
  static std::vector<Option> options() {
    return {{"record_eval", false, "count evaluation passes too"},
            {"evaluation_from_grad", false,
             "a pass is an evaluation when gradients are off, rather than when the module is in eval mode"}};
  }
  explicit MagnitudeHistogram(const Options& options)
      : bins_(add_series("bins", Series::Keep::values)),
        edges_(add_series("edges", Series::Keep::values)),
        elements_(add_series("elements")) {
    request_.measures = LOUPE_MEASURE_HISTOGRAM;
    request_.passes = options.get<bool>("record_eval") ? LOUPE_PASS_BOTH : LOUPE_PASS_TRAINING;
    request_.pass_by_grad = options.get<bool>("evaluation_from_grad");
  }

  Request request() const override { return request_; }

  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement();
    if ((measurement.measures & LOUPE_MEASURE_HISTOGRAM) == 0 || measurement.numel == 0) return;
    bins_.add(measurement.bins, measurement.bin_count);
    if (edges_.values().empty()) edges_.add(measurement.bin_edges, measurement.bin_count + 1);
    elements_.push(measurement.nan_count != 0   ? NAN
                   : measurement.inf_count != 0 ? INFINITY
                                                : static_cast<double>(measurement.numel));
  }

  // Counts are added up, each to its own, rather than appended; edges are the same wherever they come from.
  std::string save_state() const override {
    StateWriter state;
    state.number(state_version);
    state.reals(bins_.values());
    state.reals(edges_.values());
    elements_.save(state);
    return state.bytes();
  }
  void merge_state(std::string_view bytes) override {
    StateReader state(bytes);
    if (state.number() != state_version) throw Error("the histogram is of another version of Loupe", LOUPE_INVALID);
    const std::vector<double> bins = state.reals(), edges = state.reals();
    const Series elements = Series::read(state);
    state.finish();
    const bool fits = bins.empty() ? edges.empty() : edges.size() == bins.size() + 1;
    const bool same = edges.empty() || edges_.values().empty() || edges == edges_.values();
    if (!fits || !same || elements.keep() != elements_.keep()) {
      throw Error("the histogram has other bins than this one; merge what one version of Loupe has counted",
                  LOUPE_INVALID);
    }
    bins_.add(bins.data(), bins.size());
    if (edges_.values().empty()) edges_.add(edges.data(), edges.size());
    elements_.merge(elements);
  }

 private:
  static constexpr uint64_t state_version = 1;
  Series& bins_;
  Series& edges_;
  Series& elements_;
  Request request_;
};

}  // namespace loupe
