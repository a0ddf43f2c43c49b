#include "pipeline/sampling.h"

namespace loupe {
namespace {

constexpr uint64_t pair = 2;

}  // namespace

bool Sampling::step_over() {
  if (fully_ > 0) --fully_;
  if (asked_for_ > fully_) fully_ = asked_for_;
  asked_for_ = 0;
  if (++place_ >= pair * every_) begin_pair();
  looking_ = every_ == 1 || place_ < pair || fully_ > 0;
  return looking_;
}

void Sampling::begin_pair() {
  place_ = 0;
  ++pairs_;
  turn_ = multiple_ > 0 && pairs_ >= multiple_;
  if (turn_) pairs_ = 0;
}

void Sampling::restart() {
  begin_pair();
  looking_ = true;
}

}  // namespace loupe
