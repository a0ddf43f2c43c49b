#pragma once

#include <loupe/draft/tensor_math.h>
#include <loupe/plugin.h>

#include <cmath>
#include <optional>

namespace loupe {

/// The largest singular value of a matrix divided by the smallest; tensors with more dimensions are flattened from
/// dim 1. Infinite for a singular matrix. Vectors have no condition number and are skipped.
class ParameterCondition : public Preprocessor {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_PARAMETER_CONDITION;
  static constexpr const char* help = "the condition number of a parameter; slow, so put it behind the gatherer 'tick'";
  static std::vector<const char*> gives() { return {"condition: the largest singular value over the smallest"}; }
  static constexpr const char* example =
      "pipeline: {gather: tick, parameters: weight, preprocess: parameter_condition}";
  static std::vector<Option> options() { return {inplace_option(), quantiles_option()}; }
  ParameterCondition(const Options& options, const Host& host)
      : host_(host), condition_(add_series(LOUPE_SERIES_CONDITION, keep_from(options))) {}

  Request request() const override {
    Request request;
    request.wants_tensor = true;
    return request;
  }

  void process(const Event& event) override {
    const TensorView tensor = event.tensor();
    if (!tensor || tensor.dim() < 2 || tensor.numel() == 0) return;
    const auto bad = non_finite_element(*tensor.raw());
    condition_.push(bad ? *bad : condition(draft::singular_values(host_, tensor)));
  }

 private:
  // NaN or Inf if an element is; the decomposition would only fail for such a matrix.
  std::optional<double> non_finite_element(const loupe_tensor& tensor) const {
    std::optional<double> found;
    for (double value : host_.copy(tensor)) {
      if (std::isnan(value)) return NAN;
      if (std::isinf(value)) found = INFINITY;
    }
    return found;
  }
  static double condition(const std::vector<double>& singular_values) {
    const double smallest = singular_values.back();
    return smallest > 0 ? singular_values.front() / smallest : INFINITY;
  }

  Host host_;
  Series& condition_;
};

}  // namespace loupe
