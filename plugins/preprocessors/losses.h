#pragma once

#include "preprocessors/measured.h"

#include <string>

namespace loupe {

/// The value of a loss module, under the name for training or for validation.
class LossModule : public Preprocessor {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_LOSS_MODULE;
  static constexpr const char* help = "the value of a loss module, under the training or the validation name";
  static std::vector<const char*> gives() {
    return {"train_loss: the loss of training passes; the option sets the name",
            "val_loss: the loss of evaluation passes; likewise"};
  }
  static constexpr const char* example = "pipeline: {preprocess: loss_module, types: [MSELoss]}";
  static std::vector<Option> options() {
    return {inplace_option(),
            quantiles_option(),
            {"evaluation_from_grad", true,
             "a pass is an evaluation when gradients are off, rather than when the module is in eval mode"},
            {"train_loss", "train_loss", "the training loss's name"},
            {"val_loss", "val_loss", "the validation loss's name"}};
  }
  explicit LossModule(const Options& options)
      : evaluation_from_grad_(options.get<bool>("evaluation_from_grad")),
        training_(add_series(options.get<std::string>("train_loss"), keep_from(options))),
        validation_(add_series(options.get<std::string>("val_loss"), keep_from(options))) {}

  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    return request;
  }

  void process(const Event& event) override {
    const Measurement* measurement = measured(event, LOUPE_MEASURE_SUMS);
    if (measurement == nullptr) return;
    if (measurement->numel != 1) {
      throw Error("a loss module gave " + std::to_string(measurement->numel) +
                      " numbers where one was expected; reduce them to a mean or a sum, or push the loss yourself",
                  LOUPE_INVALID);
    }
    const bool training = evaluation_from_grad_ ? event.grad_enabled() : event.training();
    const auto bad = non_finite(*measurement);
    (training ? training_ : validation_).push(bad ? *bad : measurement->sum);
  }

 private:
  bool evaluation_from_grad_;
  Series& training_;
  Series& validation_;
};

/// Values that the trainer pushes, one series for each name.
class ExplicitCall : public Preprocessor {
 public:
  static constexpr const char* name = LOUPE_PREPROCESS_EXPLICIT_CALL;
  static constexpr const char* help = "the values that the trainer pushes, each under its name";
  static std::vector<const char*> gives() { return {"{name}: the values that the trainer pushed under that name"}; }
  static constexpr const char* example = "loss_metrics: {metrics: [accuracy]}";
  static std::vector<Option> options() {
    return {
        inplace_option(), quantiles_option(), {"select", "all", "which pushes to take", {"all", "losses", "metrics"}}};
  }
  explicit ExplicitCall(const Options& options)
      : keep_(keep_from(options)), select_(options.get<std::string>("select")) {}

  Request request() const override { return {}; }

  void process(const Event& event) override {
    if (select_ == "losses" && !event.is_loss()) return;
    if (select_ == "metrics" && event.is_loss()) return;
    const Series::Keep keep = event.to_memory() ? Series::Keep::values : keep_;
    find_or_add_series(event.label(), keep).push(event.scalar());
  }

 private:
  Series::Keep keep_;
  std::string select_;
};

}  // namespace loupe
