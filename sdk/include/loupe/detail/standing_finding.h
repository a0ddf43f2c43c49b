#pragma once

#include <loupe/finding.h>
#include <loupe/report.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace loupe {
inline namespace v1_0 {

namespace detail {

/// How far a finding's value is beyond its threshold, on either side: the farther of two findings of one rule is worse.
/// 0 if it has none.
inline double distance_beyond(double value, double threshold) {
  if (!std::isfinite(threshold)) return 0;
  if (!std::isfinite(value)) return INFINITY;
  if (value == 0 && threshold > 0) return INFINITY;
  const bool is_ratio = value > 0 && threshold > 0;
  return is_ratio ? std::abs(std::log(value / threshold)) : std::abs(value - threshold);
}
inline double distance_beyond(const loupe_finding& told) {
  return distance_beyond(value_of(told).value_or(NAN), threshold_of(told).value_or(NAN));
}

/// One finding from when it is first seen until it is resolved. It is reported first after its patience, again if it
/// grows worse or is seen twice as often, and when it is resolved.
class StandingFinding {
 public:
  /// Whether it was reported and is not resolved.
  bool stands() const { return stands_; }
  /// As it was last reported; its identity is set before the first see().
  const Finding& finding() const { return finding_; }
  Finding& finding() { return finding_; }
  /// The number of consecutive intervals in which it was seen.
  int streak() const { return streak_; }

  /// @param turns  its meaning has changed, so its severity may also fall
  void see(const Finding& now, bool turns = false) {
    if (!std::exchange(is_seen_, true)) ++streak_;
    unseen_ = 0;
    ++finding_.count;
    const bool is_worse = now.severity > finding_.severity || grows(now);
    has_changed_ = stands_ && (is_worse || turns);
    finding_.module = now.module;
    // An open finding keeps its last reported text until the next report, so that the text does not flicker.
    if (!is_due()) return;
    take(now, turns);
  }
  void tell(Report& report) {
    if (!is_due()) return;
    stands_ = true;
    told_count_ = finding_.count;
    report.finding(finding_);
  }
  /// The meaning of an open finding has changed, without its being seen again: reports it.
  void turn(Report& report, const Finding& now) {
    take(now, /*turns=*/true);
    report.finding(finding_);
  }
  /// An interval is over. If the finding was not seen in it, it may be resolved.
  /// @param is_open  it could not be looked for  @param cooldown  intervals without it, after which it is resolved
  /// @param was_harmless  true: report the end with severity info
  void end_stretch(Report& report, bool is_open, int cooldown, bool was_harmless = false) {
    if (std::exchange(is_seen_, false) || (stands_ && is_open)) return;
    streak_ = 0;
    if (!stands_ || ++unseen_ < cooldown) return;
    if (was_harmless) finding_.severity = LOUPE_SEVERITY_INFO;
    end(report);
  }
  /// Resolves it at once.
  void end(Report& report) {
    if (!std::exchange(stands_, false)) return;
    finding_.is_over = true;
    report.finding(finding_);
    finding_.is_over = false;
    finding_.count = told_count_ = 0;
  }

 private:
  void take(const Finding& now, bool turns) {
    finding_.severity = stands_ && !turns ? std::max(now.severity, finding_.severity) : now.severity;
    finding_.message = now.message;
    finding_.advice = now.advice;
    finding_.caused_by = now.caused_by;
    finding_.value = now.value;
    finding_.threshold = now.threshold;
    finding_.tag = now.tag;
  }
  /// Whether it is ten times as far beyond its threshold as before; for a share, whether its distance to the whole has
  /// halved.
  bool grows(const Finding& now) const {
    constexpr double much = 10, half = 0.5;
    const double value = finding_.value.value_or(0), limit = finding_.threshold.value_or(0);
    const double new_value = now.value.value_or(0), new_limit = now.threshold.value_or(0);
    if (!(limit > 0) || !(new_limit > 0) || !(value > 0) || !(new_value > 0)) return false;
    const bool is_share = limit < value && value < 1 && new_value <= 1;
    if (is_share && 1 - new_value <= half * (1 - value)) return true;
    const double before = value / limit, after = new_value / new_limit;
    return before > 1 ? after > much * before : after * much < before;
  }
  bool is_due() const { return !stands_ || has_changed_ || finding_.count >= 2 * told_count_; }

  Finding finding_ = [] {
    Finding none;
    none.count = 0;
    return none;
  }();
  int streak_ = 0, unseen_ = 0;
  bool is_seen_ = false, stands_ = false, has_changed_ = false;
  uint64_t told_count_ = 0;
};

}  // namespace detail

}  // namespace v1_0
}  // namespace loupe
