#pragma once

#include <loupe/draft/tensor_math.h>
#include <loupe/host.h>
#include <loupe/preprocessor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loupe::health {

/// How a training loss compares with its start and its best. `falls` also in the first epochs.
enum class Trend { unknown, falls, stays };

/// An epoch's losses in at most 128 values, each the mean of several losses.
class LossCurve {
 public:
  void add(double loss);
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
  std::size_t losses_a_value_ = 1, losses_in_sum_ = 0;
  double sum_ = 0;
};

/// How often a curve turns between rising and falling, ignoring single outliers: each swing is at least a fifth of the
/// curve's mean, and `noise_factor` times its mean change from one value to the next. 0 for fewer than 32 values.
std::size_t count_turns(const std::vector<double>& curve, double noise_factor);

/// Pearson's correlation of two curves of the same length, each smoothed and without its linear trend; 0 for curves
/// that differ in length or have fewer than 16 values.
double correlation(const std::vector<double>& first, const std::vector<double>& second);

/// The losses that the trainer pushes. Events come on any thread: readers and writers hold the mutex.
struct Losses : Preprocessor {
  Request request() const override { return {}; }
  /// Locks the mutex itself.
  void process(const Event& event) override;

  /// Whether a training loss was NaN since the last call, or the last one Inf.
  bool take_non_finite();
  /// Whether a validation loss was pushed since the last call.
  bool take_validation() { return std::exchange(was_validated, false); }
  /// Whether the training loss of the last epoch was below half of the first one's.
  bool has_halved() const;
  /// Whether the training loss is a tenth below its start, or it is too early to expect that.
  bool has_come_down() const;
  /// `falls` if one of the last three epochs was lower than all before, or if the loss has fallen and is as good as at
  /// its best.
  /// @param is_guess  it is no better than a guess, to which it may fall from far above, and then stay
  Trend trend(bool is_guess = false) const;
  /// Whether the latest training loss of any name was NaN or Inf.
  bool is_bad_now() const;
  /// A new training begins, with a new model or optimizer, and is not compared with earlier losses.
  void begin_series();
  /// Call it at a tick. Returns the losses whose epoch ended.
  struct EpochEnd {
    bool training, validation;
  };
  /// @param input_square  see Epoch  @param epochs  the number that end with the tick, as a budget may skip ticks
  EpochEnd end_epoch(double input_square = NAN, std::size_t epochs = 1);

  struct Epoch {
    double mean = 0, mean_change = 0;
    double mean_change_of_two = 0;  ///< over every second loss: small if two kinds of loss alternate
    double first = NAN;             ///< its first loss
    double at_end = NAN;            ///< mean of its last quarter, if it has at least eight losses
    uint64_t count = 0;             ///< losses
    std::size_t ended = 1;          ///< epochs that ended together
    std::size_t number = 0;         ///< number of the last one, from 1; epochs with a NaN are counted but not kept
    double input_square = NAN;      ///< mean square of the model's input at its end, if measured
    /// Whether both have about as many losses, and inputs of about the same size: a growing data set, or a stage of a
    /// curriculum, is a different task.
    bool compares_to(const Epoch& other) const;
  };
  struct Side {
    double sum = 0, changes = 0, changes_of_two = 0, first = 0, last = 0, last_but_one = 0;
    uint64_t count = 0;
    bool has_nan = false;  ///< a NaN came in this epoch, which then has no mean
    std::size_t ended_epochs = 0;
    double start = 0;       ///< mean of the first ten losses
    uint64_t started = 0;   ///< the number of losses in `start`
    bool overfits = false;  ///< reported, and still so; of validation losses
    std::vector<Epoch> epochs;
    LossCurve curve, last_curve, curve_before;  ///< of this epoch, the last finished one and the one before
    void add(double loss);
    bool end_epoch(std::size_t ended = 1);
    /// Whether this epoch has at least a quarter as many losses as the last one: the mean of fewer is noise.
    bool is_under_way() const {
      return epochs.empty() ? count > 0 : 4 * count * epochs.back().ended >= epochs.back().count;
    }
    /// The mean of this epoch if it is under way, else of the last one; there must be one.
    double mean_now() const { return is_under_way() ? sum / static_cast<double>(count) : epochs.back().mean; }
  };

  /// The training losses of one name.
  struct Training {
    std::string name;
    Side side;
    bool is_non_finite = false, is_nan = false;
    bool is_bad_now = false;           ///< the latest loss is NaN or Inf
    std::vector<draft::Maker> makers;  ///< the function that made it; at most one
    std::vector<double> pending;       ///< pushed since loss_spike was last applied
    std::deque<double> recent;         ///< the last 100 losses that the rule has seen
    double first = 0;                  ///< mean of the first ten
    uint64_t seen = 0;                 ///< the number that the rule has seen
    int64_t spikes = 0;                ///< the number of spikes in a row
    double input_jump = 0;          ///< the input jump farthest from 1 in that row; NaN: the inputs were not measured
    uint64_t since_tick = 0;        ///< the number that the rule has seen
    bool began_with_epoch = false;  ///< whether the current streak above the mean did
    int epochs_with_swings = 0;     ///< the number of such epochs in a row
    int repeats_for = 0;            ///< the number of epochs in which its curve still counts as the same in each epoch
    int epochs_won = 0;             ///< the number of such epochs in a row
  };
  /// "the training loss", or its name if there are several.
  std::string shown(const Training& loss) const;

  const Host* host = nullptr;  ///< null if there is no host
  std::mutex mutex;
  std::deque<Training> trainings{1};  ///< in order of arrival; the trend of the first one is judged
  Training& main = trainings.front();
  Side& training = main.side;
  Side validation;
  const Training* non_finite = &main;  ///< the last loss that was not finite
  bool was_validated = false;
  bool are_means = false;   ///< each loss is the mean of an epoch, as in a record
  bool began_late = false;  ///< the first epoch seen is not the first of the training

 private:
  Training& training_of(std::string_view name);
  /// The first training loss; an epoch must have ended.
  double beginning() const;
};

}  // namespace loupe::health
