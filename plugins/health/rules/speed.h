#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace loupe::health {

/// The times of the timed steps, in seconds. Calls come one at a time.
class Speed {
 public:
  struct Step {
    double waiting = 0, forward = 0, backward = 0, optimizer = 0, other = 0;
    bool on_device = false;  ///< these are times of a device's queue
    /// The time of a step without Loupe's own work.
    double all() const { return waiting + forward + backward + optimizer + other; }
  };
  /// A number of epochs with enough timed steps. Each time is that of the quickest step, since the machine can only
  /// slow steps down.
  struct Stretch {
    int last_epoch = 0;
    double waiting = 0, forward = 0, backward = 0, optimizer = 0;
    /// The parts that do not grow with the model's input, without evaluation and acting, which depend on the trainer.
    double rest() const { return waiting + backward + optimizer; }
  };

  /// Times of a device's queue and of the host are not compared: a step of the other kind discards all earlier ones.
  void add(const Step& step);
  void end_epoch();

  /// The means of the last steps, without the longest waits, which the machine may have caused. 0 until there are
  /// enough.
  Step usual() const;
  bool has_steps() const { return !last_.empty(); }
  bool is_of_device() const { return !last_.empty() && last_.back().on_device; }
  /// The stretches after the first epoch, which is often slower or quicker than the others.
  const std::deque<Stretch>& stretches() const { return stretches_; }

 private:
  static constexpr std::size_t most = 24, enough = 8, in_stretch = 4, most_stretches = 8;
  std::deque<Step> last_;
  std::vector<Step> in_stretch_;
  std::deque<Stretch> stretches_;
  int epochs_ = 0;
};

}  // namespace loupe::health
