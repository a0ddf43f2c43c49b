#pragma once

#include <loupe/event.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/layer.h"

// The data of a step that rules compare with each other: inputs, targets, losses and gradients.

namespace loupe::health {

/// Whole rows of a model's last input, until its loss was seen.
struct KeptInput {
  static constexpr int64_t most = 16384;
  std::vector<double> values;
  int64_t kept = 0;                            ///< rows of the first dimension
  int64_t first = 0, second = 0, columns = 0;  ///< sizes of the first two dimensions; elements of a row
  int64_t dim = 0;
  bool is_floating = false;
  void take(const Elements& input);
};

/// Columns of the input that equal the target, in all compared rows.
struct SameColumns {
  static constexpr int64_t most_width = 64;
  /// True for a column if the target equals the input from this column on, or begins with it.
  std::vector<uint8_t> alive;
  uint32_t function = 0;
  int64_t width = 0, columns = 0, in_step = 1;  ///< columns of a target, of an input, and of one time step of the input
  int64_t rows = 0, changes = 0;                ///< compared rows; those whose target differs from the row before
  uint32_t looks = 0;
  int64_t narrowest = INT64_MAX;  ///< elements per sample of the smallest output in between
  bool drops = false;             ///< dropout removes some of the input on the way

  static constexpr int64_t enough = 256, most_rows = 4096;
  bool is_open() const { return looks < 2 || (rows < most_rows && column() >= 0); }
  bool is_known() const { return rows >= enough && changes * 16 >= rows; }
  /// The number of target values compared with the input from this column on.
  int64_t overlap(int64_t column) const { return std::min(width, columns - column); }
  /// The last column from which the input equals the whole target, or else at least its first half; -1: none.
  int64_t column() const;
  void take(const KeptInput& input, const Elements& targets, uint32_t function);
};

/// Whether the targets are the words of the model's input, shifted by some positions.
struct TokenShift {
  static constexpr int64_t furthest = 3;  ///< positions
  int64_t by = -1;                        ///< the shift, if it is the same in all measurements so far; -1: none
  uint32_t looks = 0, others = 0;
  int64_t places = 0;
  bool takes_next = false;                          ///< some loss of the model predicts the next word
  double loss = NAN;                                ///< the last loss, as a share of that of a guess
  std::array<double, 4 * (furthest + 3)> output{};  ///< a part of the model's last output: four scores at each position
  int64_t scores = 0;                               ///< the number of scores at a position; 0: unknown
  bool is_causal = false, sees_all = false;         ///< it has layers that see earlier positions, or all positions
  uint32_t recurrent = 0;

  bool is_open() const { return !takes_next && others < 4; }
  void take_output(const Elements& output);
  void take(const KeptInput& input, const Elements& scores, const Elements& targets, double share_of_guess);

 private:
  /// The numbers of targets that equal the input shifted by 0, 1, ... positions.
  struct Shares {
    std::array<double, furthest + 1> of{};
    std::array<int64_t, furthest + 1> places{};  ///< compared
    bool are_known = false;
    int64_t only() const;
  };
  Shares shares_of(const KeptInput& input, const Elements& scores, const Elements& targets, bool time_first) const;
  int64_t cut_at_front(const Elements& scores, int64_t length, int64_t whole) const;
};

/// Rows of a batch that each occur several times.
struct RepeatedRows {
  std::vector<std::pair<uint64_t, int64_t>> hashes;  ///< each with its row; kept to reuse the memory
  int64_t times = 0, rows = 0;                       ///< the times and rows of this step; 0: different for some rows
  int64_t one = 0, other = 0;                        ///< two equal rows
  bool has_same_targets = false, outputs_differ = false;
  uint32_t looks = 0, batches = 0;  ///< measured batches; batches in a row with such rows
  void take(const Elements& input);
  void take_output(const Elements& output);
  void take_targets(const Elements& targets);
};

/// Targets of a binary cross entropy.
struct TargetRange {
  const char* function = "";
  double smallest = INFINITY, largest = -INFINITY;
  double outside = NAN;  ///< a target outside 0 to 1
  bool are_various = false, has_low = false,
       has_high = false;  ///< several targets are outside; some are near 0, some near 1
  uint32_t looks = 0;
  /// A single number other than 0 and 1 may mark masked targets.
  bool is_wrong() const { return looks >= 3 && !std::isnan(outside) && (are_various || !has_low || !has_high); }
  void take(const Elements& targets, const char* function);
};

/// Targets of a distance, beside the range of the bounded function that made the outputs. Of some pairs.
struct UnreachableTargets {
  const char *function = "", *maker = nullptr;
  double low = 0, high = INFINITY;                  ///< the bounds of the outputs
  double smallest = INFINITY, largest = -INFINITY;  ///< target
  double squares = 0, squares_beyond = 0;           ///< of the targets, and of their distances from the bounds
  int64_t count = 0, beyond = 0;
  uint32_t looks = 0;
  void take(double target) {
    const double distance = std::max({low - target, target - high, 0.0});
    smallest = std::min(smallest, target);
    largest = std::max(largest, target);
    squares += target * target;
    squares_beyond += distance * distance;
    beyond += distance > 0 ? 1 : 0;
    ++count;
  }
};

/// Scores for a loss that applies a softmax or a sigmoid; cosines are between -1 and 1.
struct BoundedScores {
  double smallest = 0, largest = 0, loss = 0;  ///< of this epoch
  int64_t answers = 0, right = 0;              ///< of some samples: all, and those whose target scored highest
  int64_t classes = 0;
  uint32_t looks = 0;
  bool were_larger = false;
  int epochs = 0;  ///< in a row in which scores came near 1, not above, and gave the right class
  double now = NAN, floor = 0, guess = 0;  ///< the loss of the last epoch, its lower bound, and the loss of a guess
  /// @param right  the number of right answers
  void take(const Elements& scores, double loss, int64_t answers, int64_t right);
  void end_epoch();
};

/// Some finite elements of the model's input, from each batch.
struct InputRange {
  static constexpr int64_t fewest = 64;
  // Over the window.
  double sum = 0, squares = 0, largest = 0;  ///< `largest` is a magnitude
  int64_t count = 0;
  // Over the run, for float and double.
  int64_t seen = 0, huge = 0, denormal = 0, batches = 0;
  double example = 0;
  bool is_zero() const { return count >= fewest && squares == 0; }
  /// Root mean square; NaN if nothing was measured.
  double scale() const { return std::sqrt(squares / static_cast<double>(count)); }
  bool is_misread() const { return batches >= 2 && (huge > 0 || 8 * denormal >= seen); }
  void take(const Elements& input);
};

/// Finds a softmax whose columns, not its rows, add up to 1.
struct SoftmaxLook {
  const Layer* over_batch = nullptr;  ///< the layer with such a softmax in this step
  int64_t rows = 0, inner = 0;
  bool is_attention = false;  ///< (batch, heads, time, time)
  uint32_t steps = 0;         ///< the number of such steps in a row
  void take(const Layer& layer, const Elements& output);
};

/// The data of one model. Under its mutex.
struct Passing {
  KeptInput input;
  SameColumns same;
  TokenShift shift;
  RepeatedRows repeats;
  TargetRange targets;
  UnreachableTargets unreachable;
  BoundedScores scores;
  InputRange range;
  SoftmaxLook softmax;

  /// The squares of the gradients' norms after each backward pass of a step.
  static constexpr std::size_t most_passes = 64;
  std::array<double, most_passes> squares{};
  bool ran_without_grad = false;  ///< the model ran without gradients since the last tick

  /// The state of a pass while a layer runs.
  struct Run {
    bool is_first, is_last;
  };
  void take_run(const Layer& layer, const Event& event, const Run& run);
  struct Given {
    uint32_t function;  ///< LOUPE_DRAFT_LOSS_
    const char* name;
    double loss;                     ///< the loss of some samples; NaN if not computed
    int64_t answers = 0, right = 0;  ///< of some samples: all, and those whose target scored highest
  };
  void take_loss(const Event& event, const Given& given);
  void take_gradient(uint32_t pass, double norm) {
    if (pass > 0 && pass <= most_passes && std::isfinite(norm)) squares[pass - 1] += norm * norm;
  }
  void next_step();
  void next_window();
};

/// A cross entropy as the mean over the first targets that count, and the number of these; NaN if that would take long,
/// or its arguments cannot be read.
struct MeanLoss {
  double mean = NAN;
  int64_t count = 0;
};
MeanLoss mean_cross_entropy(const Elements& scores, const Elements& targets, int64_t most_targets = INT64_MAX);

/// The backward passes of one step, by the loss of each. Events come on any thread.
class Passes {
 public:
  std::atomic<double> scale{1};
  // Things that happened without gradients: a watched model ran, or a loss was computed.
  std::atomic<bool> evaluates_models{false}, evaluates_losses{false};
  /// A loss function is called.
  void expect(const MeanLoss& loss);
  bool wants_means() const;
  /// backward() is called on a loss.
  void take(double loss);
  /// Whether losses were computed in evaluation since the last call, and no watched model ran there.
  bool evaluates_others() {
    const bool ran = evaluates_models.exchange(false);
    return evaluates_losses.exchange(false) && !ran;
  }
  struct Step {
    std::size_t passes = 0;
    int64_t fewest = INT64_MAX, most = 0;
    double smallest = INFINITY, largest = -INFINITY;  ///< a loss divided by the mean over its targets
    bool is_known = true;
    bool is_even() const { return is_known && passes > 1 && largest - smallest < 0.02 * std::abs(largest); }
  };
  /// The step since the last call.
  Step end_step();

  // Measured steps in a row.
  uint32_t uneven_steps = 0, summed_steps = 0;
  bool has_batch_norm = false;  ///< a watched model has one
  double growth = 0;  ///< over those steps, the sum of the logarithms of the last gradient divided by the first

 private:
  mutable std::mutex mutex_;
  Step step_;
  MeanLoss expected_;
  std::size_t passes_before_ = 0;
  uint32_t several_ = 0;  ///< the number of steps with several passes
};

}  // namespace loupe::health
