#pragma once

#include <loupe/visualizer.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "console/table.h"

namespace loupe::console {

/// The numbers of the whole model, such as losses, metrics and rates, over the ticks of a run.
class Headlines {
 public:
  struct Number {
    std::string key;  ///< the tag and the row's key
    std::string tag;
    std::string name, unit;
    bool is_loss = false;
    double last = NAN, epoch = 0;
    std::size_t tick = 0;               ///< the last one that had it
    double nan_count = 0;               ///< of a loss: the number of NaN in the last epoch
    double best = NAN, best_epoch = 0;  ///< of a loss: its minimum; NaN if several models are trained
    std::deque<double> values;          ///< the last ones, oldest first

    /// The last value as people read it.
    std::string text() const;
  };

  /// @param training, validation  the names of the run's losses
  void begin(std::string training, std::string validation);
  /// @param is_whole  false for an epoch that was cut short, which never counts as the best
  void take(const std::deque<Table>& tables, double epoch, bool is_whole = true);
  /// The headlines in order of arrival.
  const std::deque<Number>& all() const { return numbers_; }
  bool is_trained(const Number& number) const { return number.is_loss && number.name.rfind(validation_, 0) != 0; }
  /// Whether it is a trained loss that the last two ticks lack while they have another one: another model trains now.
  bool has_ended(const Number& number) const;
  /// Lists the numbers that were reported in this epoch, losses first: "train_loss 0.0123  Process Memory 120 MiB".
  /// Leaves out the speed, which the pace of the run shows.
  std::string in_a_line(double epoch) const;
  /// The last value of each loss, and its best one if that differs: "last: train_loss 0.0123, val_loss 0.0456 (best
  /// 0.0432 in epoch 12)". Names the epoch of a value that is older than `epoch`. "" if there is no loss.
  std::string last_losses(double epoch) const;

 private:
  std::string training_, validation_;
  std::deque<Number> numbers_;
  std::size_t ticks_ = 0;
};

/// The parts of the first plot that shows shares of a whole with a unit. Uses medians over epochs, because the few
/// steps of one epoch may not be typical.
class Parts {
 public:
  void take(const std::deque<Table>& tables);
  /// The largest part first: "Step Time 17 ms: forward 41 %, loss and backward 37 %"; "" if there is no such plot.
  std::string in_a_line() const;

 private:
  struct Part {
    std::string name;
    std::deque<double> values;  ///< of recent epochs
  };
  std::string title_, unit_;
  std::vector<Part> parts_;
};

/// "epoch 3 of 20  ━━━━━╸────  412 of 938 steps  98.3 steps/s  2 min 10 s left  lenses 4 %", at most `width` columns;
/// if that does not fit, leaves out the least important parts.
std::string progress_line(const Progress& progress, std::size_t width);

/// The duration of the last epoch, and its steps per second.
class Pace {
 public:
  void take(const Tick& tick);
  /// "12.4 s  98.3 steps/s"; "" if both are unknown.
  std::string text() const;

 private:
  double last_elapsed_ = 0, seconds_ = 0;
  std::uint64_t last_step_ = 0, steps_ = 0;
};

}  // namespace loupe::console
