#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "console/table.h"

namespace loupe::console {

/// The numbers of the whole model, such as losses, metrics and rates, over the ticks of a run.
class Headlines {
 public:
  struct Number {
    std::string key;  ///< as told
    std::string tag;
    std::string name, unit;
    bool is_loss = false;
    double last = NAN, epoch = 0;
    double nan_count = 0;               ///< of a loss: how many of the last epoch's were NaN
    double best = NAN, best_epoch = 0;  ///< of a loss: its least
    std::deque<double> values;          ///< the last of them, oldest first
  };

  /// @param training, validation  what the run calls its losses
  void begin(std::string training, std::string validation);
  /// @param is_whole  not of an epoch that was cut short, which is never the best
  void take(const std::deque<Table>& tables, double epoch, bool is_whole = true);
  /// In the order in which they came.
  const std::deque<Number>& all() const { return numbers_; }
  /// Lists the numbers that were reported in this epoch, losses first: "train_loss 0.0123  Process Memory 120 MiB".
  /// Leaves out how fast it went, which the pace of the run tells.
  std::string in_a_line(double epoch) const;
  /// "best: train_loss 0.0123 in epoch 19, val_loss 0.0456 in epoch 12"; "" where no loss was finite.
  std::string best() const;

 private:
  std::string training_, validation_;
  std::deque<Number> numbers_;
};

}  // namespace loupe::console
