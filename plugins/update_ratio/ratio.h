#pragma once

#include <loupe/plugin.h>

#include <cmath>
#include <vector>

namespace loupe {

/// How far each event has moved a tensor, beside how large it is.
class ChangeRatio : public Preprocessor {
 public:
  static constexpr const char* name = "change_ratio";
  static constexpr const char* help = "the norm of what changed since the last event over the norm of the tensor";
  static std::vector<const char*> gives() {
    return {"ratio: the L2 norm of the change over that of the tensor as it is now; none for a tensor of zeros"};
  }
  static constexpr const char* example =
      "pipeline: {gather: optimizer_step, parameters: weight, preprocess: change_ratio}";
  static std::vector<Option> options() { return {inplace_option(), quantiles_option()}; }
  explicit ChangeRatio(const Options& options) : ratio_(add_series("ratio", keep_from(options))) {}

  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE;
    return request;
  }

  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement();
    const uint32_t needed = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE;
    if ((measurement.measures & needed) != needed || measurement.numel == 0) return;
    const bool comparable = last_is_finite_ && has_change(measurement);
    last_is_finite_ = measurement.nan_count == 0 && measurement.inf_count == 0;
    if (!last_is_finite_) return ratio_.push(measurement.nan_count != 0 ? NAN : INFINITY);
    if (!comparable || measurement.sum_squares <= 0) return;
    ratio_.push(std::sqrt(measurement.change_sum_squares) / std::sqrt(measurement.sum_squares));
  }

 private:
  Series& ratio_;
  bool last_is_finite_ = true;
};

}  // namespace loupe
