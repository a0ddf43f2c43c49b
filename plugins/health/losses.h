#ifndef LOUPE_PLUGINS_HEALTH_LOSSES_H
#define LOUPE_PLUGINS_HEALTH_LOSSES_H

#include <loupe/preprocessor.h>

#include <deque>
#include <mutex>
#include <vector>

#include "health/judge.h"
#include "health/loss_curve.h"

namespace loupe::health {

/// The losses that the trainer pushes, and what they say of training.
class Losses : public Preprocessor {
 public:
  Request request() const override { return {}; }
  void process(const Event& event) override;

  /// Whether a training loss was NaN or Inf since the last call.
  bool take_non_finite();
  /// Whether the training loss of the last epoch was below half of the first one's.
  bool has_halved();
  /// Whether a validation loss was pushed since the last call.
  bool take_validation();
  /// After a step or at a tick: single losses beside those before.
  void judge_spikes(const Judge& judge);
  /// At a tick: the epochs so far.
  /// @param trends        whether a falling loss is what this training is after: not where models train against each
  ///                      other
  /// @param slow_swings   whether swings over many losses are a fault: not where rates go up and down on purpose, nor
  ///                      where a loss is an epoch's mean
  void judge_epoch(const Judge& judge, bool trends, bool slow_swings);
  /// Whether the training loss is a tenth below the first epoch's, or cannot be expected to be.
  bool has_come_down();
  /// The first epoch that was seen is not the first of the training: where the loss began is not known.
  void begin_late();

 private:
  struct Epoch {
    double mean = 0, mean_change = 0;
    uint64_t count = 0;
  };
  struct Side {
    double sum = 0, changes = 0, last = 0;
    uint64_t count = 0;
    std::vector<Epoch> epochs;
    LossCurve curve, last_curve, curve_before;  ///< of this epoch, the last that ended and the one before that
    void add(double loss);
    void end_epoch();
    /// The mean of the epoch that is on, or of the last one where that has no loss yet; there is one of them.
    double mean_now() const { return count > 0 ? sum / static_cast<double>(count) : epochs.back().mean; }
  };
  void judge_training(const Judge& judge, bool slow_swings);
  void judge_oscillation(const Judge& judge, bool slow_swings);
  void judge_overfitting(const Judge& judge);

  std::mutex mutex_;
  Side training_, validation_;
  bool non_finite_ = false, validated_ = false, began_late_ = false;
  std::deque<double> recent_;  ///< training losses, the last 100
  double first_ = 0;           ///< mean of the first ten
  uint64_t seen_ = 0;
  std::vector<double> pending_;  ///< pushed since they were last judged
  int64_t spikes_ = 0;
  int epochs_with_swings_ = 0;  ///< in a row
};

}  // namespace loupe::health

#endif
