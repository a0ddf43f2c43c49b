#include "pipeline/schedule.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/clock.h"
#include "core/own_time.h"

namespace loupe {

void Bucket::fill(double passed, double passing) {
  const double income = share_ * passed;
  seconds_ = std::min(seconds_ + std::max(income - passing, income / 4), at_first);
  since_report_ += passed;
}

bool Sampling::may_begin(bool is_paid, bool is_rich) {
  constexpr uint64_t most = 1 << 20;
  if (agrees_ && !is_paid && every_ < most) every_ *= 2;
  if (agrees_ && is_rich && every_ > least_) every_ /= 2;
  return is_paid;
}

void Sampling::end_step(const Bucket* bucket) {
  if (fully_ > 0) --fully_;
  fully_ = std::max(fully_, std::exchange(asked_for_, 0));
  ++in_epoch_;
  ++place_;
  const uint64_t distance = pair * every_;
  const bool is_due = agrees_ ? in_epoch_ % distance == 0 : place_ >= distance;
  const bool is_paid = bucket == nullptr || !bucket->is_empty();
  if (is_due && may_begin(is_paid, bucket != nullptr && bucket->is_rich())) place_ = 0;
  looking_ = place_ < pair || fully_ > 0;
}

void Sampling::begin_epoch(const Bucket& bucket) {
  const uint64_t length = std::max<uint64_t>(std::exchange(in_epoch_, 0), 1), distance = pair * every_;
  const uint64_t epochs = std::bit_ceil((distance + length - 1) / length);  // epochs from one pair to the next
  ++epochs_;
  const bool is_due = agrees_ ? epochs_ % epochs == 0 : length >= distance || place_ >= distance;
  if (is_due && may_begin(bucket.pays_for_epoch(), bucket.is_rich())) restart();
}

LookSchedule::LookSchedule(int64_t active, uint64_t every, double budget)
    : active_when_([active](int64_t tick) { return tick % active == 0; }),
      sampling_(every),
      share_(budget),
      step_start_(steady_time()),
      hooks_(OwnTime::spent(OwnTime::Of::hooks)),
      reports_(OwnTime::spent(OwnTime::Of::reports)) {
  if (budget > 0) bucket_.emplace(budget);
}

bool LookSchedule::begin_epoch(int64_t tick) {
  const bool looked = looks();
  const bool was_active = std::exchange(active_, active_when_(tick));
  if (bucket_) {
    sampling_.begin_epoch(*bucket_);
    bucket_->reported();
  }
  if (active_ && !was_active) sampling_.restart();
  time_hooks(bucket_ && looks());
  return active_ != was_active || looks() != looked;
}

bool LookSchedule::end_step(bool seen) {
  if (sampling_.every() <= 1 && !bucket_) return false;
  const bool looked = sampling_.looking();
  if (bucket_) settle();
  if (seen) {
    sampling_.end_step(bucket_ ? &*bucket_ : nullptr);
  } else {
    sampling_.restart();  // steps that no tap sees cannot be counted
  }
  // One in 16 unmeasured steps is timed, since reading the clock would take longer than their hooks.
  passed_ = looks() ? 0 : passed_ + 1;
  time_hooks(bucket_ && (looks() || passed_ % 16 == 8));
  return active_ && sampling_.looking() != looked;
}

/// Settles the time that the ending step added to the budget and took from it.
void LookSchedule::settle() {
  const double now = steady_time();
  const double hooks = OwnTime::spent(OwnTime::Of::hooks), reports = OwnTime::spent(OwnTime::Of::reports);
  const double took = hooks - std::exchange(hooks_, hooks);
  if (looks() || !times_hooks_) {
    bucket_->spend(took);  // the hook that ends a measured step does so after this
  } else {
    passing_cost_ = took;
  }
  bucket_->fill(now - std::exchange(step_start_, now), looks() ? 0 : passing_cost_);
  bucket_->spend_on_report(reports - std::exchange(reports_, reports));
}

void LookSchedule::time_hooks(bool on) {
  if (std::exchange(times_hooks_, on) != on) OwnTime::want(on);
}

std::string LookSchedule::words() const {
  if (!bucket_) return sampling_.every() > 1 ? ", measures one step in " + std::to_string(sampling_.every()) : "";
  return ", measures as many steps as fit into " + rounded_text(100 * share_) + " % of the time";
}

}  // namespace loupe
