#pragma once

#include <atomic>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <loupe/preprocessor.h>

#include "health/rules/distinct_rows.h"
#include "health/rules/flow.h"
#include "health/rules/guessing.h"
#include "health/rules/layer.h"
#include "health/rules/loss_fault.h"
#include "health/rules/output_tally.h"
#include "health/rules/resting.h"
#include "health/rules/step_sums.h"
#include "health/rules/tallies.h"
#include "health/rules/target_tally.h"

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
  Resting resting;
  Tallies tallies;
  OutputTally output_tally;
  /// A layer runs: its place in the order, and the pass it belongs to, which its first layer begins.
  void begin_run(Layer& layer, const Event& event);
  /// Ends the pass that is on, if there is one.
  void end_pass();
  /// A parameter stepped, with what its state says.
  void note_step(ParameterState& state);
  /// A batch norm's output in training: over how many values a channel it took its statistics.
  void take_batch(const Layer& layer, const TensorView& output);
  uint64_t runs = 0;      ///< layers that have run, to number them
  uint64_t step_now = 1;  ///< the step that the events since the last one belong to
  uint64_t steps = 0;     ///< of its optimizers, that were looked at
  uint64_t steps_in_window = 0;
  bool has_window_ended = false;  ///< which the findings do not know yet
  bool after_gap = false;         ///< steps went by unseen before the last one
  bool had_gaps = false;          ///< or before an earlier one
  // Passes since the last step, by their mode.
  uint32_t passes = 0, training_passes = 0, passes_without_grad = 0;
  uint64_t acting_steps = 0;  ///< before which it also ran without gradients
  /// Whether it acts, or makes its own targets, as in reinforcement learning: its losses then follow what it does.
  bool acts() const { return 4 * acting_steps > steps; }
  uint64_t training_runs = 0, evaluation_runs = 0;  ///< of layers
  StepSums sums;
  bool step_is_plain = false;         ///< the step that is judged
  const Layer* small_norm = nullptr;  ///< the first batch norm over one or two values
  int64_t small_norm_values = 0;      ///< a channel
  const Layer* dropped_in_eval = nullptr;
  const Layer* first_layer = nullptr;
  /// The weights that what the last layer with weights gives depends on, as autograd's graph had it; empty where that
  /// is not known.
  std::vector<const ParameterState*> path;
  std::atomic<const Layer*> path_end{nullptr};  ///< whose output is to be asked for it
  /// Has that asked for at the next output of the last layer whose weights got gradients.
  void ask_for_path();
  const Layer* last_layer = nullptr;  ///< of whole passes: the output

  /// Hashes of the inputs of an epoch's first steps, and in how many epochs in a row they were the same.
  struct Order {
    static constexpr std::size_t most = 64;
    std::vector<uint64_t> now, before;      ///< of some elements
    std::vector<uint64_t> all, all_before;  ///< of all, once some were the same; as long as that they are looked at
    int same = 0;
    std::size_t constants = 0;  ///< how many of the epoch were one number throughout
    double constant = 0;        ///< the last of these
    bool is_open() const { return now.size() < most; }
    bool looks_at_all() const { return same > 0 && is_open(); }
  } order;

  uint64_t trained_by = 0;  ///< the optimizer that stepped last; 0 where that is not known

  /// The optimizer that was made last, and how often in a row one like it took its place.
  struct Newest {
    uint64_t id = 0, steps = 0, at_tick = 0;
    int64_t elements = 0;
    uint32_t after_a_step = 0, after_an_epoch = 0;
  } newest;

  /// Hashes of the first input of the first pass after a step.
  struct InputLook {
    bool is_known = false, is_whole = false;
    bool is_one_row = false;   ///< as the state of an agent, which may stay where it is
    bool is_constant = false;  ///< one number throughout
    double constant = 0;
    uint64_t some = 0;  ///< of some of its elements
    uint64_t all = 0;   ///< of all, where `is_whole`; 0 where some are all
    bool equals(const InputLook& other) const {
      const bool both_whole = is_whole && other.is_whole;
      return is_known && other.is_known && some == other.some && !(both_whole && all != other.all);
    }
  } input, last_input;
  uint32_t same_inputs = 0, changed_inputs = 0;
  bool repeats_by_habit = false;
  /// Whether an input that is the same again would be a fault.
  bool may_repeat() const { return changed_inputs >= 2 && !repeats_by_habit; }
  // Over the window: of the inputs to the first layer.
  double input_sum = 0, input_sum_squares = 0;
  int64_t input_count = 0;
  static constexpr int64_t fewest_input_elements = 64;
  bool has_zero_input() const { return input_count >= fewest_input_elements && input_sum_squares == 0; }
  // Of the step: how many rows the first input has, whether they are all the same, and of a loss whether it had
  // different targets, and how many.
  int64_t input_rows = 0, targets = 0;
  bool has_equal_rows = false, has_different_targets = false;
  uint32_t equal_row_steps = 0;  ///< in a row
  /// Whether the rows of the input are its samples: there is a target for each.
  bool rows_are_samples() const { return input_rows > 0 && input_rows == targets; }
  DistinctRows distinct_rows;
  const Layer* lone_softmax = nullptr;  ///< of the step: one over a single element, several times in a row

  // Of a cross entropy at the first step: over a few samples, and how many classes there were.
  double first_cross_entropy = NAN;
  int64_t classes = 0;
  LossFault loss_fault;  ///< the first since the last step
  Guessing guessing;
  TargetTally target_tally;

  bool has_backward = false;      ///< a gradient came since the last tick
  bool added_up = false;          ///< and since the last step
  bool is_low_precision = false;  ///< any parameter of 16 bits
  bool is_on_device = false;      ///< numbers come at the tick, and elements are not read
  bool had_no_rate = false;       ///< in a step of the window
  bool told_of_device = false;    ///< which rules cannot judge it there
  bool is_broken = false;         ///< NaN or Inf got into it: what else rules see of it means nothing
  double weight_decay = 0;        ///< the largest of its optimizer's groups
  uint64_t ticks = 0;
  uint64_t trained_before_tick = 0;  ///< `step_now` at the tick before
  /// The weights as an epoch's first training pass found them.
  struct Start {
    uint64_t looked_at = UINT64_MAX;  ///< the number of ticks before it
    uint64_t hash = 0;                ///< of some elements of each weight
    bool is_known = false;
    bool changed = false;  ///< a step has changed weights since
    int same = 0;          ///< how often in a row they were the same again, although they had changed
    using Weights = std::vector<std::pair<const loupe_module*, std::string>>;
    Weights weights;  ///< what was looked at, kept for its memory
  } start;
  bool searches_steps = false;       ///< the optimizer goes as far as the loss falls, so that a step has no usual size
  uint32_t finite_steps = 0;         ///< since then, in a row
  bool has_equal_units = false;      ///< in the first steps, which was told
  double last_gradient_squares = 0;  ///< over all weights, of the step before, as backward made them
  double largest_gradient = 0;       ///< norm over all weights, of all steps so far
  uint64_t gradient_steps = 0;       ///< on how many that stands

  /// Whether it has layers whose work depends on the mode.
  bool drops() const;
  bool has_batch_norm() const;
  /// Before a step of the optimizer of this number is judged: whether nothing is wrong with it, as its sums say.
  bool is_plain(uint64_t optimizer);
  /// Takes what was added up since the last call.
  void take_tallies();
  /// Whether what is kept of each parameter, once it is up to date, says all of the step.
  bool knows_each() const { return !tallies.in_use() || tallies.is_complete(sums); }
  /// Brings what is kept of each parameter up to date.
  void follow();
  /// Whose source it is; null for one that is detached.
  const ParameterState* parameter_of(const loupe_source* gradients) const;
  void next_step();
  void next_window();

  /// What was counted at the last step of each optimizer, and how often in a row.
  struct Usual {
    uint64_t optimizer = 0;
    StepSums::Counts counts;
    uint32_t times = 0;
  };
  std::vector<Usual> usual;
};

}  // namespace loupe::health
