#pragma once

#include <loupe/event.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/layer.h"

// What a step's inputs, targets, losses and gradients are, as far as rules compare one of them with another.

namespace loupe::health {

/// Whole rows of the input that went into a model last, until its loss was seen.
struct KeptInput {
  static constexpr int64_t most = 16384;
  std::vector<double> values;
  int64_t kept = 0;                            ///< rows of the first dimension
  int64_t first = 0, second = 0, columns = 0;  ///< sizes of the first two dimensions; elements of a row
  int64_t dim = 0;
  bool is_floating = false;
  void take(const Elements& input);
};

/// Columns of the input that were the target, in all rows that were compared.
struct SameColumns {
  static constexpr int64_t most_width = 64;
  /// For each column: the target is the same as what is in the input from here on, or begins with that.
  std::vector<uint8_t> alive;
  uint32_t function = 0;
  int64_t width = 0, columns = 0, in_step = 1;  ///< of a target, of an input, and of one time step of that
  int64_t rows = 0, changes = 0;                ///< compared; those with another target than the row before
  uint32_t looks = 0;
  int64_t narrowest = INT64_MAX;  ///< elements a sample of the smallest output between
  bool drops = false;             ///< some input is dropped at random on the way

  static constexpr int64_t enough = 256, most_rows = 4096;
  bool is_open() const { return looks < 2 || (rows < most_rows && column() >= 0); }
  bool is_known() const { return rows >= enough && changes * 16 >= rows; }
  /// How many numbers of the target are compared with the input from this column on.
  int64_t overlap(int64_t column) const { return std::min(width, columns - column); }
  /// The last column of the input from which on it is the whole target, or else from which on it is the beginning of
  /// it, up to a half; -1: none.
  int64_t column() const;
  void take(const KeptInput& input, const Elements& targets, uint32_t function);
};

/// Whether the targets are the words that the model is given, moved by some places.
struct TokenShift {
  static constexpr int64_t furthest = 3;  ///< places
  int64_t by = -1;                        ///< the same in all looks since; -1: none
  uint32_t looks = 0, others = 0;
  int64_t places = 0;
  bool takes_next = false;                          ///< some loss of the model does
  double loss = NAN;                                ///< the last, as a share of a guess
  std::array<double, 4 * (furthest + 3)> output{};  ///< some of the model's last one: four scores at each place
  int64_t scores = 0;                               ///< at a place; 0: not known
  bool is_causal = false, sees_all = false;         ///< layers that see what came before, or everything
  uint32_t recurrent = 0;

  bool is_open() const { return !takes_next && others < 4; }
  void take_output(const Elements& output);
  void take(const KeptInput& input, const Elements& scores, const Elements& targets, double share_of_guess);

 private:
  /// Of the targets, those that are the input moved by 0, 1, ... places.
  struct Shares {
    std::array<double, furthest + 1> of{};
    std::array<int64_t, furthest + 1> places{};  ///< compared
    bool are_known = false;
    int64_t only() const;
  };
  Shares shares_of(const KeptInput& input, const Elements& scores, const Elements& targets, bool time_first) const;
  int64_t cut_at_front(const Elements& scores, int64_t length, int64_t whole) const;
};

/// Rows of a batch that are there several times each.
struct RepeatedRows {
  std::vector<std::pair<uint64_t, int64_t>> hashes;  ///< with the row; kept for its memory
  int64_t times = 0, rows = 0;                       ///< of this step: 0: not the same for each
  int64_t one = 0, other = 0;                        ///< two of the same
  bool has_same_targets = false, outputs_differ = false;
  uint32_t looks = 0, batches = 0;  ///< batches that were looked at; those in a row with such rows
  void take(const Elements& input);
  void take_output(const Elements& output);
  void take_targets(const Elements& targets);
};

/// Targets of a binary cross entropy.
struct TargetRange {
  const char* function = "";
  double smallest = INFINITY, largest = -INFINITY;
  double outside = NAN;                                         ///< one of those outside of 0 to 1
  bool are_various = false, has_low = false, has_high = false;  ///< others outside; inside, near 0 and near 1
  uint32_t looks = 0;
  /// One number beside both 0 and 1 may mark what a mask leaves out.
  bool is_wrong() const { return looks >= 3 && !std::isnan(outside) && (are_various || !has_low || !has_high); }
  void take(const Elements& targets, const char* function);
};

/// Scores of a loss that applies a softmax or a sigmoid to them: cosines lie between -1 and 1.
struct BoundedScores {
  double smallest = 0, largest = 0, loss = 0;  ///< of this epoch
  int64_t answers = 0, right = 0;              ///< of some samples: the highest score is the target's
  int64_t classes = 0;
  uint32_t looks = 0;
  bool were_larger = false;
  int epochs = 0;  ///< in a row, in which they came near 1, and not above, and told the right class
  double now = NAN, floor = 0, guess = 0;  ///< the loss of the last epoch, its bound, and that of a guess
  /// @param right  how many of the answers are right
  void take(const Elements& scores, double loss, int64_t answers, int64_t right);
  void end_epoch();
};

/// The finite elements of the model's input: some of each batch.
struct InputRange {
  static constexpr int64_t fewest = 64;
  // Over the window.
  double sum = 0, squares = 0, largest = 0;  ///< the last is a magnitude
  int64_t count = 0;
  // Over the run, of float and double.
  int64_t seen = 0, huge = 0, denormal = 0, batches = 0;
  double example = 0;
  bool is_zero() const { return count >= fewest && squares == 0; }
  /// Root mean square; NaN where none was looked at.
  double scale() const { return std::sqrt(squares / static_cast<double>(count)); }
  bool is_misread() const { return batches >= 2 && (huge > 0 || 8 * denormal >= seen); }
  void take(const Elements& input);
};

/// A softmax whose columns, and not its rows, add up to 1.
struct SoftmaxLook {
  const Layer* over_batch = nullptr;  ///< of this step
  int64_t rows = 0, inner = 0;
  bool is_attention = false;  ///< (batch, heads, time, time)
  uint32_t steps = 0;         ///< in a row
  void take(const Layer& layer, const Elements& output);
};

/// The store of one model. Under its mutex.
struct Passing {
  KeptInput input;
  SameColumns same;
  TokenShift shift;
  RepeatedRows repeats;
  TargetRange targets;
  BoundedScores scores;
  InputRange range;
  SoftmaxLook softmax;

  /// The squares of the gradients' norms after each backward pass of a step.
  static constexpr std::size_t most_passes = 64;
  std::array<double, most_passes> squares{};
  bool ran_without_grad = false;  ///< since the last tick

  /// What is known of a pass as a layer runs.
  struct Run {
    bool is_first, is_last;
  };
  void take_run(const Layer& layer, const Event& event, const Run& run);
  struct Given {
    uint32_t function;  ///< LOUPE_DRAFT_LOSS_
    const char* name;
    double loss;                     ///< of some samples; NaN where it is not calculated
    int64_t answers = 0, right = 0;  ///< of some samples: the highest score is the target's
  };
  void take_loss(const Event& event, const Given& given);
  void take_gradient(uint32_t pass, double norm) {
    if (pass > 0 && pass <= most_passes && std::isfinite(norm)) squares[pass - 1] += norm * norm;
  }
  void next_step();
  void next_window();
};

/// A cross entropy as the mean over those of the first targets that count, and how many these are; NaN where that takes
/// long, or what it takes cannot be read.
struct MeanLoss {
  double mean = NAN;
  int64_t count = 0;
};
MeanLoss mean_cross_entropy(const Elements& scores, const Elements& targets, int64_t most_targets = INT64_MAX);

/// The backward passes of one step, by the loss of each. Events come on any thread.
class Passes {
 public:
  std::atomic<double> scale{1};
  // Without gradients: a watched model ran, or a loss was computed.
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
    double smallest = INFINITY, largest = -INFINITY;  ///< a loss as a share of the mean over its targets
    bool is_known = true;
    bool is_even() const { return is_known && passes > 1 && largest - smallest < 0.02 * std::abs(largest); }
  };
  /// Since the last call.
  Step end_step();

  // Steps in a row, of those looked at.
  uint32_t uneven_steps = 0, summed_steps = 0;
  bool has_batch_norm = false;  ///< a model that is watched
  double growth = 0;            ///< the sum of the logarithms over those, of a step's last gradient over its first

 private:
  mutable std::mutex mutex_;
  Step step_;
  MeanLoss expected_;
  std::size_t passes_before_ = 0;
  uint32_t several_ = 0;  ///< steps of several passes
};

}  // namespace loupe::health
