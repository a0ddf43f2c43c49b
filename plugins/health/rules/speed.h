#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace loupe::health {

/// What the steps that were timed took, in seconds. Calls come one at a time.
class Speed {
 public:
  struct Step {
    double waiting = 0, forward = 0, backward = 0, optimizer = 0, other = 0;
    bool on_device = false;  ///< the times are those of a device's queue
    /// Without Loupe's own work.
    double all() const { return waiting + forward + backward + optimizer + other; }
  };
  /// Some epochs together, so many that each of these stands on a few steps. The machine only ever makes a step slower,
  /// so each is of the step that took least.
  struct Stretch {
    int last_epoch = 0;
    double waiting = 0, forward = 0, backward = 0, optimizer = 0;
    /// What does not grow with what the model is given; evaluation and acting are the trainer's business.
    double rest() const { return waiting + backward + optimizer; }
  };

  /// Times of a device's queue and of the host are not compared: with the other kind all begins anew.
  void add(const Step& step);
  void end_epoch();

  /// Of the last steps, the means without the ones that took longest to wait, which may have been the machine's.
  /// Nothing, 0, before there are enough.
  Step usual() const;
  bool has_steps() const { return !last_.empty(); }
  bool is_of_device() const { return !last_.empty() && last_.back().on_device; }
  /// Those after the first epoch, which is often slower, or quicker, than the others.
  const std::deque<Stretch>& stretches() const { return stretches_; }

 private:
  static constexpr std::size_t most = 24, enough = 8, in_stretch = 4, most_stretches = 8;
  std::deque<Step> last_;
  std::vector<Step> in_stretch_;
  std::deque<Stretch> stretches_;
  int epochs_ = 0;
};

}  // namespace loupe::health
