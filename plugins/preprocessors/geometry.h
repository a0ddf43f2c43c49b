#pragma once

#include <loupe/event.h>

#include <cmath>
#include "preprocessors/norms.h"

namespace loupe {

/// The norm of a tensor, and its correlation with the tensor of the previous event, also across ticks.
class Geometry : public Preprocessor {
 public:
  static std::vector<const char*> gives() {
    return {"norm: the L2 norm", "correlation: the cosine of the angle to the previous one, from -1 to 1"};
  }
  static std::vector<Option> options() {
    return {{"correlation", true, "also the correlation with the previous event; keeps a copy of it"},
            normalize_option(),
            inplace_option(),
            quantiles_option(),
            {"eps", 0.0, "added to the product of norms in a correlation's divisor; it pulls small ones to 0", 0.0},
            {"first", false, "count the first event, which has no predecessor, as correlation 0"}};
  }

 protected:
  explicit Geometry(const Options& options)
      : normalize_(options.get<bool>("normalize")),
        epsilon_(options.get<double>("eps")),
        counts_first_(options.get<bool>("first")),
        norm_(add_series(LOUPE_SERIES_NORM, keep_from(options))) {
    if (options.get<bool>("correlation")) correlation_ = &add_series(LOUPE_SERIES_CORRELATION, keep_from(options));
  }

  bool wants_correlation() const { return correlation_ != nullptr; }
  void push_non_finite(double marker) {
    norm_.push(marker);
    if (wants_correlation()) correlation_->push(marker);
  }
  void push_norm(double sum_squares, int64_t numel) { norm_.push(norm_of(sum_squares, numel, normalize_)); }
  /// A zero vector has no direction, and therefore no correlation.
  void push_correlation(double dot, double previous_sum_squares, double sum_squares) {
    const double norms = std::sqrt(previous_sum_squares) * std::sqrt(sum_squares) + epsilon_;
    if (norms > 0) correlation_->push(dot / norms);
  }
  void push_first_correlation() {
    if (counts_first_) correlation_->push(0);
  }

 private:
  bool normalize_;
  double epsilon_;
  bool counts_first_;
  Series& norm_;
  Series* correlation_ = nullptr;
};

/// The norm and correlation of a tensor itself.
class TensorGeometry : public Geometry {
 public:
  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    if (wants_correlation()) request.measures |= LOUPE_MEASURE_PREVIOUS;
    request.takes_sparse = !wants_correlation();  // two sparse gradients may have different rows
    return request;
  }

  void process(const Event& event) override {
    const Measurement* measurement = measured(event, LOUPE_MEASURE_SUMS);
    if (measurement == nullptr) return;
    const bool comparable = last_is_finite_;
    const bool first = first_;
    first_ = false;
    const auto bad = non_finite(*measurement);
    last_is_finite_ = !bad;
    if (bad) return push_non_finite(*bad);
    push_norm(measurement->sum_squares, measurement->numel);
    if (!wants_correlation()) return;
    if (!has_previous(*measurement)) {
      // Within a stream this means that the shape has changed, so the correlation is not defined.
      if (first) push_first_correlation();
    } else if (comparable) {
      push_correlation(measurement->dot_previous, measurement->previous_sum_squares, measurement->sum_squares);
    }
  }

 protected:
  using Geometry::Geometry;

 private:
  bool first_ = true;
  bool last_is_finite_ = true;
};

class GradientGeometry : public TensorGeometry {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_GRADIENT_GEOMETRY;
  static constexpr const char* help = "the norm of a gradient and its correlation with the previous one";
  static constexpr const char* example =
      "pipeline: {gather: step_gradient, parameters: weight, preprocess: gradient_geometry}";
  explicit GradientGeometry(const Options& options) : TensorGeometry(options) {}
};

class OutputGradientGeometry : public TensorGeometry {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_OUTPUT_GRADIENT_GEOMETRY;
  static constexpr const char* help = "the norm of an output's gradient and its correlation with the previous one";
  static constexpr const char* example = "pipeline: {gather: output_gradient, preprocess: output_gradient_geometry}";
  explicit OutputGradientGeometry(const Options& options) : TensorGeometry(options) {}
};

/// The norm and correlation of a parameter's change since the last event.
class ParameterDifferenceGeometry : public Geometry {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_PARAMETER_DIFFERENCE_GEOMETRY;
  static constexpr const char* help = "the norm of a parameter's change and its correlation with the change before";
  static constexpr const char* example =
      "pipeline: {gather: optimizer_step, parameters: weight, preprocess: parameter_difference_geometry}";
  explicit ParameterDifferenceGeometry(const Options& options) : Geometry(options) {}

  Request request() const override {
    Request request;
    request.measures = wants_correlation() ? LOUPE_MEASURE_CHANGE_PREVIOUS : LOUPE_MEASURE_CHANGE;
    return request;
  }

  void process(const Event& event) override {
    const Measurement* measurement = measured(event, LOUPE_MEASURE_CHANGE);
    if (measurement == nullptr) return;
    const bool comparable = last_is_finite_ && has_change(*measurement);
    const auto bad = non_finite(*measurement);
    last_is_finite_ = !bad;
    if (bad) push_non_finite(*bad);
    if (bad || !comparable) {
      last_is_change_ = false;
      return;
    }
    push_norm(measurement->change_sum_squares, measurement->numel);
    // The first change, or one after a gap, has no previous change to correlate with.
    const bool has_none_before = first_ && measurement->previous_change_sum_squares == 0;
    if (wants_correlation() && has_none_before) {
      push_first_correlation();
    } else if (wants_correlation() && (first_ || last_is_change_)) {
      push_correlation(measurement->dot_change, measurement->previous_change_sum_squares,
                       measurement->change_sum_squares);
    }
    first_ = false;
    last_is_change_ = true;
  }

 private:
  bool first_ = true;
  bool last_is_finite_ = true;
  bool last_is_change_ = false;
};

}  // namespace loupe
