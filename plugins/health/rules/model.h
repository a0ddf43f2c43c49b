#pragma once

#include <loupe/host.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "health/rules/layer.h"
#include "health/rules/loss_inputs.h"
#include "health/rules/passing.h"
#include "health/rules/resting.h"
#include "health/rules/row_sketch.h"

namespace loupe::health {

/// Calls with the elements of a module's parameter, or of its gradient, where these can be read.
template <class Call>
void read(const Host& host, const loupe_module* module, const std::string& name, bool gradient, Call&& call) {
  host.lend_parameter(module, name.c_str(), gradient, [&](const loupe_tensor& tensor) {
    if (const Elements elements(&tensor); elements.readable()) call(elements);
  });
}
template <class Call>
void read(const Host& host, const ParameterState& state, bool gradient, Call&& call) {
  read(host, state.module, state.name, gradient, call);
}

/// The steps of a window that were looked at whole and whose gradients were made far smaller before the step.
struct ClippedSteps {
  struct Range {
    double low = INFINITY, high = 0;
    void take(double value) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    double spread() const { return high / low - 1; }
  };
  uint64_t looks = 0, count = 0;  ///< steps that were looked at, and those among them
  Range before, after;            ///< the norm of all gradients, as backward made them and as the step took them
  Range largest;                  ///< the largest element that the step took
  double logarithms = 0;          ///< of the share of the norm that was left
  int64_t elements = 0;
  bool shrinks_steps = false;  ///< a smaller gradient makes a smaller step of this optimizer
  double rate = NAN;           ///< of the only group, where steps are as large as gradients

  void take(double norm_before, double norm_after, double largest_after) {
    ++count;
    before.take(norm_before);
    after.take(norm_after);
    largest.take(largest_after);
    logarithms += std::log(norm_after / norm_before);
  }
  double share() const { return std::exp(logarithms / static_cast<double>(count)); }
};

/// The different rows that a model's inputs had.
struct DistinctRows {
  static constexpr int64_t fewest_in_batch = 16;
  static constexpr std::size_t most = 33;
  RowSketch rows;
  int64_t seen = 0, smallest_batch = 0;
  uint32_t looks = 0;
  bool are_samples = false;  ///< as the targets say, of which there was one for each
  /// There are more than can be few, or rows of whole numbers, which repeat by nature, as states and words do.
  bool is_many = false;

  /// @param quick  as HashedRows has it  @param whole  calculates the hash of all elements, where that decides
  template <class Whole>
  void take(uint64_t quick, Whole&& whole) {
    ++seen;
    const std::size_t before = rows.count();
    const bool is_known = quick != 0 && rows.take(quick, whole);
    is_many = !is_known && (rows.count() == before || rows.count() > most);
  }
  /// Whether each batch must hold rows several times over.
  bool are_few() const {
    constexpr uint32_t enough_looks = 8;
    return are_samples && !is_many && looks >= enough_looks && rows.count() > 1 &&
           2 * static_cast<int64_t>(rows.count()) <= smallest_batch;
  }
};

/// One attached model as the rules see it. Events come on any thread, steps and ticks on the trainer's: whoever reads
/// or writes holds the mutex. `step`, `window` and `epoch` begin afresh with each; all other members last for the run.
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

  /// The forward that is running, from its first layer to its last.
  struct Pass {
    bool open = false;
    const Layer* first = nullptr;
    const Layer* last = nullptr;
    bool training = false, evaluation = false, with_grad = false;  ///< any layer of it
    const Layer* dropout = nullptr;                                ///< a function that drops, whatever its model's mode
    double last_norm = NAN;                                        ///< of the last output that was measured
    double largest_input = NAN;                                    ///< magnitude, where the input was read whole
    bool has_various_rows = false;                                 ///< its input, where that was looked at
    /// The last layer that makes something, with those that were given the same.
    struct Made {
      Layer* layer = nullptr;
      const void *input = nullptr, *output = nullptr;
      int64_t count = 0, last = 0, second = 0;  ///< of its output: elements, and the sizes of these dimensions
      double square = 0;                        ///< mean of its output
      Layer* before = nullptr;                  ///< it was given the same, and no other was
      const void* output_before = nullptr;
      double square_before = 0;
      bool is_one_of_many = false;
    } made;
  } pass;
  Flow flow;
  Resting resting;
  Tallies tallies;
  OutputTally output_tally;

  /// Hashes of the first input of the first pass after a step.
  struct InputLook {
    bool is_known = false, is_whole = false;
    bool is_one_row = false;   ///< as the state of an agent, which may stay where it is
    bool is_constant = false;  ///< one number throughout
    double square = NAN;       ///< mean of some elements, of numbers
    double constant = 0;
    uint64_t some = 0;  ///< of some of its elements
    uint64_t all = 0;   ///< of all, where `is_whole`; 0 where some are all
    uint64_t whole() const { return all != 0 ? all : some; }
    bool equals(const InputLook& other) const {
      const bool both_whole = is_whole && other.is_whole;
      return is_known && other.is_known && some == other.some && !(both_whole && all != other.all);
    }
  };

  /// Since the last step of an optimizer.
  struct Step {
    StepSums sums;
    bool is_plain = false;   ///< nothing is wrong with it, as its sums say; known once it is judged
    bool after_gap = false;  ///< steps before it were not looked at
    bool added_up = false;   ///< a gradient came
    uint32_t passes = 0, training_passes = 0, passes_without_grad = 0;
    uint64_t training_runs = 0, evaluation_runs = 0;  ///< of layers
    const Layer* small_norm = nullptr;                ///< the first batch norm over one or two values
    int64_t small_norm_values = 0;                    ///< a channel
    const Layer* dropped_in_eval = nullptr;
    const Layer* lone_softmax = nullptr;  ///< over a single element, several times in a row
    InputLook input;
    // How many rows the first input has, whether they are all equal, and of a loss: whether its targets differ, and
    // how many there are.
    int64_t input_rows = 0, targets = 0;
    bool has_equal_rows = false, has_different_targets = false;
    LossFault loss_fault;  ///< the first
    // The size of the targets' second dimension, or 0; the first recurrent layer that takes time first, and how many
    // times and sequences its input has by that.
    int64_t target_columns = 0;
    const Layer* time_first = nullptr;
    int64_t times = 0, sequences = 0;
    /// Whether the rows of the input are its samples: there is a target for each.
    bool rows_are_samples() const { return input_rows > 0 && input_rows == targets; }
  } step;
  /// Over the steps that rules judge together.
  struct Window {
    uint64_t steps = 0;
    uint64_t passed = 0;       ///< steps beside them that were not looked at
    bool had_no_rate = false;  ///< in one of them
    ClippedSteps clipped;
  } window;
  /// Since the last tick.
  struct Epoch {
    bool has_backward = false;      ///< a gradient came
    std::vector<InputLook> inputs;  ///< of its first steps
    static constexpr std::size_t most_inputs = 64;
    bool takes_inputs() const { return inputs.size() < most_inputs; }
  } epoch;

  uint64_t runs = 0;      ///< layers that have run, to number them
  uint64_t step_now = 1;  ///< the step that the events since the last one belong to
  uint64_t steps = 0;     ///< of its optimizers, that were looked at
  uint64_t ticks = 0;
  uint32_t epochs_without_step = 0;  ///< in a row, of those in which gradients came
  bool has_window_ended = false;     ///< and the findings do not know yet
  bool had_gaps = false;             ///< some steps were not measured
  bool has_detached_layers = false;  ///< which others still refer to
  uint64_t acting_steps = 0;         ///< before which it also ran without gradients
  const Layer* first_layer = nullptr;
  const Layer* last_layer = nullptr;  ///< of whole passes: the output
  /// The weights that the output of the last layer with weights depends on, as autograd's graph had it; empty where
  /// that is unknown.
  std::vector<const ParameterState*> path;
  std::atomic<const Layer*> path_end{nullptr};  ///< whose output is to be asked for it

  std::vector<InputLook> inputs_before;  ///< of the epoch before
  int same_orders = 0;                   ///< for how many epochs in a row the inputs were the same
  InputLook last_input;                  ///< of the step before
  uint32_t same_inputs = 0, changed_inputs = 0;
  double usual_input_square = NAN;  ///< mean over the last steps
  double input_jump = 1;            ///< root mean square of the last step's input over that of those before
  bool repeats_by_habit = false;
  uint32_t equal_row_steps = 0;  ///< in a row
  uint32_t swapped_batches = 0;  ///< steps in a row in which a recurrent layer had as many times as there were targets
  uint32_t frozen_steps = 0;     ///< of its optimizer, in a row, in which none of its parameters was trainable
  uint32_t early_clips = 0;      ///< steps in a row, of those looked at, whose gradients were clipped before backward
  DistinctRows distinct_rows;
  SharedRows shared_rows;

  // Of a cross entropy at the first step: over a few samples, and how many classes there were.
  double first_cross_entropy = NAN;
  int64_t classes = 0;
  Guessing guessing;
  TargetTally target_tally;
  Passing passing;
  // What its losses compare; read without the mutex.
  std::atomic<bool> compares_outputs{false};  ///< outputs with outputs
  std::atomic<bool> compares_targets{false}, compares_classes{false}, compares_numbers{false};

  uint64_t trained_by = 0;      ///< the optimizer that stepped last; 0 where that is unknown
  double weight_decay = 0;      ///< the largest of its optimizer's groups
  bool searches_steps = false;  ///< the optimizer goes as far as the loss falls, so that a step has no usual size
  /// The optimizer that was made last, and how often in a row one like it took its place.
  struct NewestOptimizer {
    uint64_t id = 0, steps = 0, at_tick = 0;
    int64_t elements = 0;
    uint32_t after_a_step = 0, after_an_epoch = 0;
  } newest;
  bool is_low_precision = false;     ///< any parameter of 16 bits
  bool is_on_device = false;         ///< numbers come at the tick, and elements are not read
  bool told_of_device = false;       ///< which rules cannot judge it there
  bool is_broken = false;            ///< it holds NaN or Inf, so that other rules cannot judge it
  uint32_t finite_steps = 0;         ///< since then, in a row
  uint64_t trained_before_tick = 0;  ///< `step_now` at the tick before
  /// The weights as an epoch's first training pass found them.
  struct Start {
    uint64_t looked_at = UINT64_MAX;  ///< the number of ticks before it
    uint64_t hash = 0;                ///< of some elements of each weight
    bool is_known = false;
    bool changed = false;  ///< a step has clearly changed a weight since
    int same = 0;          ///< how often in a row they were the same again, although they had changed
    using Weights = std::vector<std::pair<const loupe_module*, std::string>>;
    Weights weights;  ///< what was looked at, kept for its memory
  } start;
  double first_distance = NAN;       ///< see still_target: of one that is not trained from the one of its shape
  std::string overshoot;             ///< says how far beyond what is usual its steps went; empty where none did
  bool has_equal_units = false;      ///< in the first steps, which was reported
  bool has_codebook = false;         ///< an embedding is asked for what a layer chose
  double last_gradient_squares = 0;  ///< over all weights, of the step before, as backward made them
  double largest_gradient = 0;       ///< norm over all weights, of all steps so far
  uint64_t gradient_steps = 0;       ///< how many these were

  /// Whether it acts, or makes its own targets, as in reinforcement learning: its losses then follow what it does.
  bool acts() const { return 4 * acting_steps > steps; }
  /// Its loss may grow while it learns: what it acts for does, or a code that moves away from its codebook.
  bool may_grow() const { return acts() || has_codebook; }
  /// Whether an input that repeats would be a fault.
  bool may_repeat() const { return changed_inputs >= 2 && !repeats_by_habit; }
  /// Whether inputs are hashed as a whole.
  bool reads_all_inputs() const { return same_orders > 0 && epoch.takes_inputs(); }
  /// Whether it has layers whose work depends on the mode.
  bool drops() const;
  bool has_batch_norm() const;
  /// The layer that an input goes into first; the whole model where that is unknown.
  const loupe_module* input_module() const { return first_layer != nullptr ? first_layer->module : root; }
  const loupe_module* output_module() const { return last_layer != nullptr ? last_layer->module : root; }

  /// A layer runs: notes its place in the order, and the pass that it belongs to, which its first layer begins.
  void begin_run(Layer& layer, const Event& event);
  /// Ends the pass that is running, if any.
  void end_pass();
  /// A parameter stepped, with what its state says.
  void note_step(ParameterState& state);
  /// A batch norm's output in training: over how many values a channel it took its statistics.
  void take_batch(const Layer& layer, const TensorView& output);
  /// Has `path` asked for at the next output of the last layer whose weights got gradients.
  void ask_for_path();
  /// Whether nothing is wrong with a step, as its sums say; before it is judged.
  bool may_be_plain() const;
  /// Takes what was added up since the last call.
  void take_tallies();
  /// Whether what is kept of each parameter, once it is up to date, describes the whole step.
  bool knows_each() const { return !tallies.in_use() || tallies.is_complete(step.sums); }
  /// Brings what is kept of each parameter up to date.
  void follow();
  /// Whose source it is; null for one that is detached.
  const ParameterState* parameter_of(const loupe_source* gradients) const;
  void next_step();
  void next_window();
  void next_epoch();
};

}  // namespace loupe::health
