#pragma once

#include <loupe/host.h>
#include <loupe/preprocessor.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "health/non_finite.h"
#include "health/rules/elements.h"
#include "health/rules/model.h"
#include "health/rules/speed.h"

namespace loupe::health {

/// Data shared by the events of all models.
struct Watched {
  Watched(const Host& host_, double dead_share_) : host(host_), dead_share(dead_share_) {}
  Host host;
  double dead_share;  ///< the share of silent units from which dead_units reports
  FirstNonFinite first_non_finite;
  std::atomic<uint64_t> last_step{0};  ///< the number of the last measured step, on the run's clock
  Passes passes;
};

/// Reads no elements, so it does not wait for the device.
inline Request at_once_on_devices() {
  return {.wants_tensor = true, .places = LOUPE_PLACE_DEVICE, .takes_sparse = true};
}
inline bool is_finite(const Measurement& measured) {
  return measured.nan_count == 0 && measured.inf_count == 0;
}
/// Describes a NaN or Inf that `event` measured.
Origin origin_of(Origin::Place place, const Event& event, const Measurement& measured, const Watched& watched);

/// Passes each event to a function.
class Calling : public Preprocessor {
 public:
  using Call = std::function<void(const Event&)>;
  explicit Calling(Call call, const Request& request = {}) : call_(std::move(call)), request_(request) {}
  Request request() const override { return request_; }
  void process(const Event& event) override { call_(event); }

 private:
  Call call_;
  Request request_;
};
/// Collects the times of the timed steps.
Calling::Call times_into(Speed& speed);
/// Takes the losses of backward passes, and their scale.
Calling::Call passes_into(Passes& passes);
// Events on a device are noted at once; their measurements come at the tick.
void note_device_output(const Watched& watched, Model& model, Layer& layer, const Event& event);
void note_device_gradient(Model& model);
/// Leaves open whether its gradient was cleared: one that was set to 0 outside autograd does not look cleared.
void note_device_step(Model& model, ParameterState& state, const Event& event);

/// Watches a layer's output: measurements shared with other lenses and, if its elements can be read, also its input.
/// Outputs on a device come only as measurements, at the tick.
class OutputWatch : public Preprocessor {
 public:
  /// @param place  whose events it watches: LOUPE_PLACE_CPU or LOUPE_PLACE_DEVICE
  OutputWatch(Watched& watched, Model& model, Layer& layer, uint32_t place)
      : place_(place), watched_(watched), model_(model), layer_(layer) {}
  Request request() const override {
    return {.measures = LOUPE_MEASURE_SUMS, .wants_tensor = place_ == LOUPE_PLACE_CPU, .places = place_};
  }
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
  // These are in alikeness_look.cpp.
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

/// Asks autograd's graph for the weights that an output depends on, if the model requests it for this layer. Without
/// the model's mutex.
void look_at_path(const Watched& watched, Model& model, const Layer& layer, const Event& event);

/// Takes a parameter's gradient after a backward; on a device, at the tick.
void take_gradient(Watched& watched, Model& model, ParameterState& state, const Event& event);

/// Watches a parameter after each step of its optimizer; on a device, measurements come at the tick.
class StepWatch : public Preprocessor {
 public:
  /// @param place  whose events it watches: LOUPE_PLACE_CPU or LOUPE_PLACE_DEVICE
  StepWatch(Watched& watched, Model& model, ParameterState& state, uint32_t place)
      : place_(place), watched_(watched), model_(model), state_(state) {}
  Request request() const override {
    return {.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE,
            .wants_tensor = place_ == LOUPE_PLACE_CPU,
            .places = place_};
  }
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

/// Watches the arguments of a loss function; in loss_input_look.cpp.
class LossInputLook : public Preprocessor {
 public:
  LossInputLook(Watched& watched, Model& model) : watched_(watched), model_(model) {}
  Request request() const override { return {.wants_tensor = true}; }
  void process(const Event& event) override;

 private:
  bool is_time(const Event& event);

  Watched& watched_;
  Model& model_;
  uint64_t last_time_ = UINT64_MAX, next_time_ = 0;  ///< the measured steps
  uint64_t parts_ = 0;                               ///< parts of the last one
};

}  // namespace loupe::health
