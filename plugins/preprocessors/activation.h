#pragma once

#include "preprocessors/measured.h"

namespace loupe {

/// The share of active entries, and the share of units that have no active entry in the event. All units have the same
/// number of entries, so the mean of the units' rates is the rate of all entries.
class Activation : public Preprocessor {
 public:
  static std::vector<const char*> gives() {
    return {"activation: the share of entries that are active",
            "death: the share of units without an active entry in the whole event"};
  }
  Request request() const override { return request_; }

  void process(const Event& event) override {
    const Measurement* measurement = measured(event, LOUPE_MEASURE_ACTIVITY);
    if (measurement == nullptr) return;
    const auto bad = non_finite(*measurement);
    activation_.push(bad ? *bad : share(measurement->active_count, measurement->numel));
    if (death_ != nullptr) death_->push(bad ? *bad : share(measurement->dead_unit_count, measurement->unit_count));
  }

 protected:
  explicit Activation(const Options& options) : activation_(add_series(LOUPE_SERIES_ACTIVATION, keep_from(options))) {
    if (options.get<bool>("death")) death_ = &add_series(LOUPE_SERIES_DEATH, keep_from(options));
    request_.measures = LOUPE_MEASURE_ACTIVITY;
    request_.eps = options.get<double>("eps");
  }
  static std::vector<Option> common_options() {
    return {{"death", true, "also the share of units that are silent in a whole event"},
            inplace_option(),
            quantiles_option(),
            epsilon_option("an entry is active when its magnitude is above this")};
  }

  Request request_;

 private:
  static double share(int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

  Series& activation_;
  Series* death_ = nullptr;
};

class OutputActivation : public Activation {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_OUTPUT_ACTIVATION;
  static constexpr const char* help = "how much of an output is active, and how many of its units are dead in a batch";
  static constexpr const char* example = "pipeline: {preprocess: output_activation, series: death}";
  static std::vector<Option> options() {
    return joined_options({common_options(),
                           pass_options(),
                           {{"channel_last", false, "units are counted along the last dimension, not dimension 1"}}});
  }
  explicit OutputActivation(const Options& options) : Activation(options) {
    request_passes(options, request_);
    request_.unit_dimension = options.get<bool>("channel_last") ? -1 : 1;
  }
};

class GradientActivation : public Activation {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_GRADIENT_ACTIVATION;
  static constexpr const char* help = "how much of a gradient is active, and how many of its units are dead";
  static constexpr const char* example =
      "pipeline: {gather: step_gradient, parameters: weight, preprocess: gradient_activation}";
  static std::vector<Option> options() { return common_options(); }
  explicit GradientActivation(const Options& options) : Activation(options) { request_.unit_dimension = 0; }
};

}  // namespace loupe
