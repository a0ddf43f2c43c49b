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

/// Calls `call` with the elements of a module's parameter, or of its gradient, if they can be read.
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

/// The fully measured steps of a window whose gradients were made far smaller before the step.
struct ClippedSteps {
  struct Range {
    double low = INFINITY, high = 0;
    void take(double value) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    double spread() const { return high / low - 1; }
  };
  uint64_t looks = 0, count = 0;  ///< measured steps, and clipped ones among them
  Range before, after;            ///< the norm of all gradients after backward and at the step
  Range largest;                  ///< the largest element at the step
  double logarithms = 0;          ///< sum of the logarithms of the share of the norm that was left
  int64_t elements = 0;
  bool shrinks_steps = false;  ///< a smaller gradient makes a smaller step of this optimizer
  double rate = NAN;           ///< rate of the only group, if steps are proportional to gradients

  void take(double norm_before, double norm_after, double largest_after) {
    ++count;
    before.take(norm_before);
    after.take(norm_after);
    largest.take(largest_after);
    logarithms += std::log(norm_after / norm_before);
  }
  double share() const { return std::exp(logarithms / static_cast<double>(count)); }
};

/// The different rows of a model's inputs.
struct DistinctRows {
  static constexpr int64_t fewest_in_batch = 16;
  static constexpr std::size_t most = 33;
  RowSketch rows;
  int64_t seen = 0, smallest_batch = 0;
  uint32_t looks = 0;
  bool are_samples = false;  ///< each row has a target
  /// There are too many to be few, or they are rows of whole numbers, which naturally repeat, like states and words.
  bool is_many = false;

  /// @param quick  see HashedRows  @param whole  computes the hash of all elements, if that decides
  template <class Whole>
  void take(uint64_t quick, Whole&& whole) {
    ++seen;
    const std::size_t before = rows.count();
    const bool is_known = quick != 0 && rows.take(quick, whole);
    is_many = !is_known && (rows.count() == before || rows.count() > most);
  }
  /// Whether each batch must contain rows several times.
  bool are_few() const {
    constexpr uint32_t enough_looks = 8;
    return are_samples && !is_many && looks >= enough_looks && rows.count() > 1 &&
           2 * static_cast<int64_t>(rows.count()) <= smallest_batch;
  }
};

/// One attached model as the rules see it. Events come on any thread, steps and ticks on the trainer's: readers and
/// writers hold the mutex. `step`, `window` and `epoch` start again with each; all other members last for the run.
struct Model {
  explicit Model(std::string name_) : name(std::move(name_)) {}

  std::string name;
  std::mutex mutex;
  std::deque<Layer> layers;
  std::deque<ParameterState> parameters;
  const loupe_module* root = nullptr;
  /// The watched parts of one module.
  struct Parts {
    std::vector<Layer*> layers;
    std::vector<ParameterState*> parameters;
  };
  std::map<const loupe_module*, Parts> modules;        ///< the attached modules, with functions
  std::vector<std::unique_ptr<Preprocessor>> watches;  ///< the preprocessors of all modules

  /// The forward that is running, from its first layer to its last.
  struct Pass {
    bool open = false;
    const Layer* first = nullptr;
    const Layer* last = nullptr;
    const Layer* maker = nullptr;  ///< the last one that is a linear layer or a convolution
    bool training = false, evaluation = false, with_grad = false;  ///< whether any layer of it is
    const Layer* dropout = nullptr;                                ///< a function that drops in any mode of the model
    double last_norm = NAN;                                        ///< norm of the last measured output
    double largest_input = NAN;                                    ///< largest magnitude, if the whole input was read
    bool has_various_rows = false;                                 ///< whether its input has, if measured
    /// The last layer that computes something, and others with the same input.
    struct Made {
      Layer* layer = nullptr;
      const void *input = nullptr, *output = nullptr;
      int64_t count = 0, last = 0,
              second = 0;       ///< of its output: the number of elements, and the sizes of the last two dimensions
      double square = 0;        ///< mean square of its output
      Layer* before = nullptr;  ///< the only other layer with the same input
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
    bool is_one_row = false;   ///< it may be the state of an agent, which need not change
    bool is_constant = false;  ///< all elements are one number
    double square = NAN;       ///< mean square of some elements, if they are floating-point
    double constant = 0;
    uint64_t some = 0;  ///< hash of some of its elements
    uint64_t all = 0;   ///< hash of all, if `is_whole`; 0 if `some` covers all
    uint64_t whole() const { return all != 0 ? all : some; }
    bool equals(const InputLook& other) const {
      const bool both_whole = is_whole && other.is_whole;
      return is_known && other.is_known && some == other.some && !(both_whole && all != other.all);
    }
  };

  /// The state since the last step of an optimizer.
  struct Step {
    StepSums sums;
    bool is_plain = false;   ///< its sums show no fault; known once it is judged
    bool after_gap = false;  ///< the steps before it were not measured
    bool added_up = false;   ///< a gradient came
    uint32_t passes = 0, training_passes = 0, passes_without_grad = 0;
    uint64_t training_runs = 0, evaluation_runs = 0;  ///< the number of layers that ran
    const Layer* small_norm = nullptr;                ///< the first batch norm over one or two values
    int64_t small_norm_values = 0;                    ///< the number of values per channel
    const Layer* dropped_in_eval = nullptr;
    const Layer* lone_softmax = nullptr;  ///< over a single element, several times in a row
    InputLook input;
    // The number of rows of the first input, whether they are all equal, and for a loss: whether its targets differ,
    // and their number.
    int64_t input_rows = 0, targets = 0;
    bool has_equal_rows = false, has_different_targets = false;
    LossFault loss_fault;  ///< the first fault of the step
    // The size of the targets' second dimension, or 0; the first recurrent layer with time as first dimension, and the
    // number of times and sequences that its input then has.
    int64_t target_columns = 0;
    const Layer* time_first = nullptr;
    int64_t times = 0, sequences = 0;
    /// Whether the rows of the input are its samples: there is a target for each.
    bool rows_are_samples() const { return input_rows > 0 && input_rows == targets; }
  } step;
  /// The state over the steps that rules judge together.
  struct Window {
    uint64_t steps = 0;
    uint64_t passed = 0;       ///< unmeasured steps in between
    bool had_no_rate = false;  ///< the learning rate was 0 in one of them
    ClippedSteps clipped;
  } window;
  /// The state since the last tick.
  struct Epoch {
    bool has_backward = false;      ///< a gradient came
    std::vector<InputLook> inputs;  ///< the inputs of its first steps
    static constexpr std::size_t most_inputs = 64;
    bool takes_inputs() const { return inputs.size() < most_inputs; }
  } epoch;

  uint64_t runs = 0;      ///< the number of layers that have run, to number them
  uint64_t step_now = 1;  ///< the step that the events since the last one belong to
  uint64_t steps = 0;     ///< measured steps of its optimizers
  uint64_t ticks = 0;
  uint32_t epochs_without_step = 0;  ///< epochs in a row with gradients and without a step
  bool has_window_ended = false;     ///< the ledger does not know it yet
  bool had_gaps = false;             ///< some steps were not measured
  bool has_detached_layers = false;  ///< some layers are detached, and others still refer to them
  uint64_t acting_steps = 0;         ///< steps before which it also ran without gradients
  const Layer* first_layer = nullptr;
  const Layer* last_layer = nullptr;  ///< the last layer of whole passes: the output
  /// The weights that the output of the last layer with weights depends on, according to autograd's graph; empty if
  /// unknown.
  std::vector<const ParameterState*> path;
  std::atomic<const Layer*> path_end{nullptr};  ///< the layer at whose output the path is looked up

  std::vector<InputLook> inputs_before;  ///< the inputs of the previous epoch
  int same_orders = 0;                   ///< epochs in a row with the same inputs
  InputLook last_input;                  ///< the input of the previous step
  uint32_t same_inputs = 0, changed_inputs = 0;
  double usual_input_square = NAN;  ///< mean square over the last steps
  double input_jump = 1;            ///< root mean square of the last step's input, divided by that of the steps before
  bool repeats_by_habit = false;
  uint32_t equal_row_steps = 0;  ///< the number of such steps in a row
  uint32_t swapped_batches = 0;  ///< steps in a row in which a recurrent layer's time was as long as the targets
  uint32_t frozen_steps = 0;     ///< steps of its optimizer in a row without a trainable parameter
  uint32_t unreached_steps = 0;  ///< steps in a row without a gradient
  uint64_t reused_steps = 0;     ///< steps with the gradients of the step before
  uint32_t zero_steps = 0;       ///< steps whose gradients were all 0, before the first other one
  bool had_gradient = false;     ///< a gradient was not 0
  uint32_t early_clips = 0;      ///< measured steps in a row whose gradients were clipped before backward
  DistinctRows distinct_rows;
  SharedRows shared_rows;

  // The cross entropy at the first step, over a few samples, and the number of classes.
  double first_cross_entropy = NAN;
  int64_t classes = 0;
  Guessing guessing;
  TargetTally target_tally;
  Passing passing;
  // The things that its losses compare; read without the mutex.
  std::atomic<bool> compares_outputs{false};  ///< outputs with outputs
  std::atomic<bool> compares_targets{false}, compares_classes{false}, compares_numbers{false};

  uint64_t trained_by = 0;      ///< the optimizer that stepped last; 0 if unknown
  double weight_decay = 0;      ///< the largest of its optimizer's groups
  bool searches_steps = false;  ///< the optimizer searches along a line, so a step has no usual size
  /// The newest optimizer, and how often in a row a similar one replaced it.
  struct NewestOptimizer {
    uint64_t id = 0, steps = 0, at_tick = 0;
    int64_t elements = 0;
    uint32_t after_a_step = 0, after_an_epoch = 0;
  } newest;
  bool is_low_precision = false;     ///< any parameter of 16 bits
  bool is_on_device = false;         ///< measurements come at the tick, and elements are not read
  bool told_of_device = false;       ///< the user knows which rules do not apply there
  bool is_broken = false;            ///< it contains NaN or Inf, so other rules do not apply
  uint32_t finite_steps = 0;         ///< the number of finite steps in a row since it was broken
  uint64_t trained_before_tick = 0;  ///< `step_now` at the tick before
  /// The weights at an epoch's first training pass.
  struct Start {
    uint64_t looked_at = UINT64_MAX;  ///< the number of ticks before the measurement
    uint64_t hash = 0;                ///< a hash of some elements of each weight
    bool is_known = false;
    bool changed = false;  ///< a step has clearly changed a weight since
    int same = 0;          ///< epochs in a row that began with the same weights although these had changed
    using Weights = std::vector<std::pair<const loupe_module*, std::string>>;
    Weights weights;  ///< the weights read, kept to reuse the memory
  } start;
  double first_distance = NAN;   ///< see still_target: distance of an untrained model from the trained one of its shape
  std::string overshoot;         ///< text about its unusually large steps; empty if there were none
  bool has_equal_units = false;  ///< it had them in the first steps, and that was reported
  bool has_codebook = false;     ///< a layer's output chooses rows of an embedding
  double last_gradient_squares = 0;  ///< over all weights, at the previous step, after backward
  double largest_gradient = 0;       ///< norm over all weights, of all steps so far
  uint64_t gradient_steps = 0;       ///< the number of those steps

  /// Whether it acts, or makes its own targets, as in reinforcement learning: then its losses depend on its actions.
  bool acts() const { return 4 * acting_steps > steps; }
  /// Whether its loss may grow while it learns: with its rewards, or with a code that moves away from its codebook.
  bool may_grow() const { return acts() || has_codebook; }
  /// Whether an input that repeats would be a fault.
  bool may_repeat() const { return changed_inputs >= 2 && !repeats_by_habit; }
  /// Whether inputs are hashed as a whole.
  bool reads_all_inputs() const { return same_orders > 0 && epoch.takes_inputs(); }
  /// Whether it has dropout or normalization layers that depend on the mode.
  bool drops() const;
  bool has_batch_norm() const;
  /// The layer that gets the model's input; the whole model if unknown.
  const loupe_module* input_module() const { return first_layer != nullptr ? first_layer->module : root; }
  const loupe_module* output_module() const { return last_layer != nullptr ? last_layer->module : root; }

  /// A layer runs: notes its position in the order of runs, and its pass, which the first layer begins.
  void begin_run(Layer& layer, const Event& event);
  /// Ends the pass that is running, if any.
  void end_pass();
  /// A parameter stepped: takes over its state.
  void note_step(ParameterState& state);
  /// Takes a batch norm's output in training: the number of values per channel in its statistics.
  void take_batch(const Layer& layer, const TensorView& output);
  /// Requests `path` at the next output of the last layer whose weights got gradients.
  void ask_for_path();
  /// Whether a step's sums show no fault; call it before the step is judged.
  bool may_be_plain() const;
  /// Takes the sums since the last call.
  void take_tallies();
  /// Whether the state of the parameters, once it is up to date, describes the whole step.
  bool knows_each() const { return !tallies.in_use() || tallies.is_complete(step.sums); }
  /// Updates the state of each parameter.
  void follow();
  /// The parameter of a source; null if it is detached.
  const ParameterState* parameter_of(const loupe_source* gradients) const;
  void next_step();
  void next_window();
  void next_epoch();
};

}  // namespace loupe::health
