#ifndef LOUPE_RUN_EPOCH_CLOCK_H
#define LOUPE_RUN_EPOCH_CLOCK_H

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "config/run_program_section.h"

namespace loupe {

/// Decides where the epochs of a program end that does not say so. One thread at a time.
class EpochClock {
 public:
  explicit EpochClock(const RunProgramSection& section) : kind_(section.epoch), length_(section.epoch_length) {}

  /// After a step of an optimizer, which is only to compare with. True where an epoch ends with it: each of several
  /// has taken the steps of one, or one of them twice as many.
  bool stepped(const void* optimizer);
  /// Before a backward pass. True where an epoch has ended although nothing steps, which is to be seen too.
  bool went_backward();
  /// Before an optimizer clears gradients. True, once, where those of several backward passes were and nothing has
  /// stepped.
  bool cleared();
  /// Before a model that trains is switched. True where an epoch has ended.
  bool mode_set(bool trains);
  /// Before a data loader's sampler, which is only to compare with, begins anew. True where an epoch has ended.
  bool sampler_reset(const void* sampler);
  /// A validation loss was computed.
  void validated() { validated_ = true; }
  /// An epoch was ended.
  void ticked();
  /// Whether anything was learnt since, or was meant to be in a program in which nothing has stepped yet.
  bool has_passes() const { return steps_ > 0 || (!ever_stepped_ && backwards_ > 0); }
  /// Whether models train, as far as train() and eval() say.
  bool trains() const { return trains_; }
  /// What counts as an epoch, for the user.
  std::string description() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool follows_modes() const;
  std::uint64_t most_steps() const;

  RunProgramSection::Epoch kind_;
  double length_;
  bool trains_ = true, switches_ = false;  // train() or eval() was called at all
  bool evaluated_ = false;                 // since the last tick
  bool validated_ = false;                 // since the last tick, a loss was computed without gradients
  bool too_often_ = false;                 // the modes change with every step
  bool knows_ends_ = false;                // an epoch ended by the modes, or by the sampler
  const void* reset_sampler_ = nullptr;    // the last that began anew
  const void* feeding_sampler_ = nullptr;  // the one that began anew before the last step
  std::unordered_map<const void*, std::uint64_t> counts_;
  bool ever_stepped_ = false;
  std::uint64_t backwards_ = 0;    // since the last tick
  std::uint64_t cleared_at_ = 0;   // how many those were when gradients were cleared last
  int cleared_ = 0;                // how often that was after a backward, in a program in which nothing has stepped
  std::uint64_t steps_ = 0;        // of the optimizer that took most
  std::uint64_t switched_at_ = 0;  // how many those were when eval() was last followed by train()
  Clock::time_point begin_ = Clock::now();
};

}  // namespace loupe

#endif
