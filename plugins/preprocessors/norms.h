#pragma once

#include "preprocessors/measured.h"

#include <cmath>

namespace loupe {

inline Option normalize_option(const char* help = "divide by the square root of the number of elements") {
  return {"normalize", false, help};
}

/// The L2 norm of a measured tensor, divided by the root of its size on request.
inline double norm_of(double sum_squares, int64_t numel, bool normalize) {
  return std::sqrt(normalize ? sum_squares / static_cast<double>(numel) : sum_squares);
}

class OutputNorm : public Preprocessor {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_OUTPUT_NORM;
  static constexpr const char* help = "the L2 norm of a sample's output, as a mean over the batch";
  static std::vector<const char*> gives() {
    return {"norm: the L2 norm of a sample's output, as a mean over the batch"};
  }
  static constexpr const char* example = "pipeline: {gather: forward, preprocess: output_norm}";
  static std::vector<Option> options() {
    return joined_options({{normalize_option("divide by the square root of a sample's number of elements"),
                            inplace_option(),
                            quantiles_option(),
                            {"channel_last", false, "makes no difference: a sample's norm has no channels"}},
                           pass_options()});
  }
  explicit OutputNorm(const Options& options)
      : normalize_(options.get<bool>("normalize")), norm_(add_series(LOUPE_SERIES_NORM, keep_from(options))) {
    request_.measures = LOUPE_MEASURE_SAMPLES;
    request_passes(options, request_);
  }

  Request request() const override { return request_; }

  void process(const Event& event) override {
    const Measurement* measurement = measured(event, LOUPE_MEASURE_SAMPLES);
    if (measurement == nullptr || measurement->sample_count == 0) return;
    const auto bad = non_finite(*measurement);
    norm_.push(bad ? *bad : mean_norm(*measurement));
  }

 private:
  double mean_norm(const Measurement& measurement) const {
    const auto samples = static_cast<double>(measurement.sample_count);
    const double mean = measurement.sample_norm_sum / samples;
    return normalize_ ? mean / std::sqrt(static_cast<double>(measurement.numel) / samples) : mean;
  }

  bool normalize_;
  Series& norm_;
  Request request_;
};

/// The norm of a parameter, which the gatherer's label selects.
class ParameterNorm : public Preprocessor {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_PARAMETER_NORM;
  static constexpr const char* help = "the L2 norm of a parameter";
  static std::vector<const char*> gives() { return {"norm: the L2 norm"}; }
  static constexpr const char* example = "pipeline: {gather: tick, parameters: bias, preprocess: parameter_norm}";
  static std::vector<Option> options() { return {normalize_option(), inplace_option(), quantiles_option()}; }
  explicit ParameterNorm(const Options& options)
      : normalize_(options.get<bool>("normalize")), norm_(add_series(LOUPE_SERIES_NORM, keep_from(options))) {}

  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    request.takes_sparse = true;
    return request;
  }

  void process(const Event& event) override {
    const Measurement* measurement = measured(event, LOUPE_MEASURE_SUMS);
    if (measurement == nullptr) return;
    const auto bad = non_finite(*measurement);
    norm_.push(bad ? *bad : norm_of(measurement->sum_squares, measurement->numel, normalize_));
  }

 private:
  bool normalize_;
  Series& norm_;
};

}  // namespace loupe
