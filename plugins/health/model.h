#ifndef LOUPE_PLUGINS_HEALTH_MODEL_H
#define LOUPE_PLUGINS_HEALTH_MODEL_H

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <loupe/preprocessor.h>

#include "health/flow.h"
#include "health/layer.h"

namespace loupe::health {

/// One attached model as the rules see it. Events come on any thread, steps and ticks on the trainer's: whoever reads
/// or writes holds the mutex.
struct Model {
  explicit Model(std::string name_) : name(std::move(name_)) {}

  std::string name;
  std::mutex mutex;
  std::deque<Layer> layers;
  std::deque<ParameterState> parameters;
  const loupe_module* root = nullptr;
  /// What is watched of one module.
  struct Parts {
    std::vector<Layer*> layers;
    std::vector<ParameterState*> parameters;
  };
  std::map<const loupe_module*, Parts> modules;        ///< those that are attached, functions too
  std::vector<std::unique_ptr<Preprocessor>> watches;  ///< of all of them

  /// The forward that is on, from its first layer to its last.
  struct Pass {
    bool open = false;
    const Layer* first = nullptr;
    const Layer* last = nullptr;
    bool training = false, evaluation = false, with_grad = false;  ///< any layer of it
    const Layer* dropout = nullptr;                                ///< a function that drops, whatever its model's mode
    double last_norm = NAN;                                        ///< of the last output that was measured
    double largest_input = NAN;                                    ///< magnitude, where the input was read whole
  } pass;
  Flow flow;
  /// A layer runs: its place in the order, and the pass it belongs to, which its first layer begins.
  void begin_run(Layer& layer, const Event& event);
  /// Ends the pass that is on, if there is one.
  void end_pass();
  uint64_t runs = 0;   ///< layers that have run, to number them
  uint64_t steps = 0;  ///< of its optimizers, that were looked at
  uint64_t steps_in_window = 0;
  bool after_gap = false;  ///< steps went by unseen before the last one
  bool had_gaps = false;   ///< or before an earlier one
  // Passes since the last step, by their mode.
  uint32_t passes = 0, training_passes = 0, passes_without_grad = 0;
  const Layer* dropped_in_eval = nullptr;
  const Layer* first_layer = nullptr;
  const Layer* last_layer = nullptr;  ///< of whole passes: the output

  // Of the first input of the first pass after each step.
  uint64_t input_hash = 0, last_input_hash = 0;
  bool has_input_hash = false;
  uint32_t same_inputs = 0, changed_inputs = 0;
  bool repeats_by_habit = false;
  // Over the window: of the inputs to the first layer.
  double input_sum = 0, input_sum_squares = 0;
  int64_t input_count = 0;

  // Of what a cross entropy was given since the last step.
  bool got_distribution = false;

  bool has_backward = false;    ///< a gradient came since the last tick
  bool added_up = false;        ///< and since the last step
  bool is_on_device = false;    ///< numbers come at the tick, and elements are not read
  bool had_no_rate = false;     ///< in a step of the window
  bool told_of_device = false;  ///< which rules cannot judge it there
  bool is_broken = false;       ///< NaN or Inf got into it: what else rules see of it means nothing
  double largest_gradient = 0;  ///< norm over all parameters, of all steps so far
  uint64_t gradient_steps = 0;  ///< on how many that stands

  /// Whether it has layers whose work depends on the mode.
  bool depends_on_mode() const;
  void next_step();
  void next_window();
};

}  // namespace loupe::health

#endif
