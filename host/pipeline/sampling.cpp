#include "pipeline/sampling.h"

namespace loupe {
namespace {

constexpr uint64_t pair = 2;

}  // namespace

bool Sampling::step_over() {
  if (fully_ > 0) --fully_;
  if (asked_for_ > fully_) fully_ = asked_for_;
  asked_for_ = 0;
  if (++place_ >= pair * every_) place_ = 0;
  looking_ = every_ == 1 || place_ < pair || fully_ > 0;
  return looking_;
}

void Sampling::restart() {
  place_ = 0;
  looking_ = true;
}

}  // namespace loupe
