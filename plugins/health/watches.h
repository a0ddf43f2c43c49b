#pragma once

#include <loupe/host.h>
#include <loupe/preprocessor.h>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "health/non_finite.h"
#include "health/rules/elements.h"
#include "health/rules/model.h"
#include "health/rules/speed.h"

namespace loupe::health {

/// What the events of all models share.
struct Watched {
  Watched(const Host& host_, double dead_share_) : host(host_), dead_share(dead_share_) {}
  Host host;
  double dead_share;  ///< the share of silent units from which dead_units speaks
  FirstNonFinite first_non_finite;
  std::atomic<uint64_t> last_step{0};  ///< on the run's clock: the last step that was looked at
  Passes passes;
};

/// Reads nothing, so that nothing waits for the device.
inline Request at_once_on_devices() {
  Request request;
  request.wants_tensor = true;
  request.places = LOUPE_PLACE_DEVICE;
  request.takes_sparse = true;
  return request;
}
inline bool is_finite(const Measurement& measured) {
  return measured.nan_count == 0 && measured.inf_count == 0;
}
/// Describes a NaN or Inf that `event` measured.
Origin origin_of(Origin::Place place, const Event& event, const Measurement& measured, const Watched& watched);

/// Collects the times of the timed steps.
class SpeedWatch : public Preprocessor {
 public:
  explicit SpeedWatch(Speed& speed) : speed_(speed) {}
  Request request() const override { return {}; }
  void process(const Event& event) override;

 private:
  Speed& speed_;
  Speed::Step step_;
};

/// Takes the losses of backward passes, and their scale.
class PassWatch : public Preprocessor {
 public:
  explicit PassWatch(Passes& passes) : passes_(passes) {}
  Request request() const override { return {}; }
  void process(const Event& event) override {
    if (event.is_loss() && event.training()) passes_.take(event.scalar());
    if (std::string_view(event.label()) == "loss scale") passes_.take_scale(event.scalar());
  }

 private:
  Passes& passes_;
};

/// Watches a layer's output: numbers that other lenses share, and, where its elements can be read, also its input.
/// Outputs on a device come as numbers, at the tick.
class OutputWatch : public Preprocessor {
 public:
  /// @param place  whose events it watches: LOUPE_PLACE_CPU or LOUPE_PLACE_DEVICE
  OutputWatch(Watched& watched, Model& model, Layer& layer, uint32_t place)
      : place_(place), watched_(watched), model_(model), layer_(layer) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  void take_numbers(const Event& event);
  void note_non_finite(const Event& event, Origin origin);
  void read_input(const Event& event);
  void look(const Event& event);
  void look_at_input(const Event& event);
  void look_at_rows(const Elements& input);
  void count_rows(const Elements& input);
  void compare_rows(const Event& event);  ///< in compared_rows.cpp
  void look_at_start();
  void look_for_life(const TensorView& output);
  void find_alive(const Elements& elements, int64_t units, int64_t inner);
  void look_for_one_element(const TensorView& output);
  static double spread_of(const Elements& elements, double enough);
  void look_for_bounds(const TensorView& output);
  void look_for_variation(const Event& event);
  void look_at_spread(const TensorView& output);
  // In alikeness_look.cpp.
  void look_for_alikeness(const Event& event);
  void look_at_answers(const Event& event, bool is_start);
  void look_at_choice(const Event& event);
  void look_for_code(const Event& event);
  void explain(const Event& event);
  void look_at_bad_input(const Event& event, std::size_t index, Origin::Inputs& inputs) const;
  void look_at_parameters(const loupe_module* module, Origin::Inputs& inputs) const;

  uint32_t place_;
  Watched& watched_;
  Model& model_;
  Layer& layer_;
  uint64_t events_ = 0;
  struct {
    const loupe_module* module = nullptr;
    Origin::Inputs inputs;
  } at_rest_;  ///< the resting layer that made this one's input, and its own inputs
};

/// Asks autograd's graph for the weights that an output depends on, if the model wants that of this layer. Without the
/// model's mutex.
void look_at_path(const Watched& watched, Model& model, const Layer& layer, const Event& event);

/// Notes at once that a layer ran on a device, in which mode and on how many samples.
class DeviceOutputLook : public Preprocessor {
 public:
  DeviceOutputLook(Watched& watched, Model& model, Layer& layer) : watched_(watched), model_(model), layer_(layer) {}
  Request request() const override { return at_once_on_devices(); }
  void process(const Event& event) override;

 private:
  Watched& watched_;
  Model& model_;
  Layer& layer_;
};

/// Watches a parameter's gradient, after each backward; on a device, at the tick.
class GradientNumbers : public Preprocessor {
 public:
  GradientNumbers(Watched& watched, Model& model, ParameterState& state)
      : watched_(watched), model_(model), state_(state) {}
  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    request.takes_sparse = true;
    return request;
  }
  void process(const Event& event) override;

 private:
  Watched& watched_;
  Model& model_;
  ParameterState& state_;
};

/// Notes at once that a parameter on a device got a gradient.
class DeviceGradientLook : public Preprocessor {
 public:
  DeviceGradientLook(Watched&, Model& model) : model_(model) {}
  Request request() const override { return at_once_on_devices(); }
  void process(const Event& event) override;

 private:
  Model& model_;
};

/// Watches a parameter after each step of its optimizer; on a device, numbers come at the tick.
class StepWatch : public Preprocessor {
 public:
  /// @param place  whose events it watches: LOUPE_PLACE_CPU or LOUPE_PLACE_DEVICE
  StepWatch(Watched& watched, Model& model, ParameterState& state, uint32_t place)
      : place_(place), watched_(watched), model_(model), state_(state) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  void note_non_finite(const Event& event);
  void look_at_rounding(const Event& event);

  static constexpr int64_t most_looked_at = 256;
  uint32_t place_;
  Watched& watched_;
  Model& model_;
  ParameterState& state_;
  std::vector<uint64_t> last_;  ///< the bits of some elements of a 16-bit parameter after the last step
  bool has_last_ = false;
};

/// Notes at once that a step was made with a parameter on a device.
class DeviceStepLook : public Preprocessor {
 public:
  DeviceStepLook(Watched&, Model& model, ParameterState& state) : model_(model), state_(state) {}
  Request request() const override { return at_once_on_devices(); }
  void process(const Event& event) override;

 private:
  Model& model_;
  ParameterState& state_;
};

/// Watches what a loss function is given; in loss_input_look.cpp.
class LossInputLook : public Preprocessor {
 public:
  LossInputLook(Watched& watched, Model& model) : watched_(watched), model_(model) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  bool is_time(const Event& event);

  Watched& watched_;
  Model& model_;
  uint64_t last_time_ = UINT64_MAX, next_time_ = 0;  ///< the steps that are looked at
  uint64_t parts_ = 0;                               ///< of the last one
};

}  // namespace loupe::health
