#include "pipeline/source.h"

#include <loupe/error.h>

#include <charconv>
#include <mutex>

#include "core/log.h"

namespace loupe {
namespace {

constexpr double slow_share = 0.1, slow_seconds = 0.05;

std::string with_digits(double number, int digits) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, digits).ptr};
}

}  // namespace

std::optional<std::string> LensCost::judge(const std::string& lens, double wall) {
  const double seconds = static_cast<double>(nanoseconds_.exchange(0)) * 1e-9;
  const bool slow = seconds > slow_seconds && seconds > slow_share * wall;
  const bool again = std::exchange(was_slow_, slow);
  if (!slow || !again || std::exchange(told_, true)) return std::nullopt;
  // The share is an estimate from some of the events, so limit it to 1.
  const double share = std::min(seconds / wall, 1.0);
  return "the lens '" + lens + "' takes " + with_digits(100 * share, 0) + " % of the time since the last tick (" +
         with_digits(share * wall, 2) + " of " + with_digits(wall, 2) +
         " s); set 'active: 10' to measure every 10th epoch, or select fewer modules or parameters with include";
}

void LensGuard::fault(const std::string& where, const std::string& what) {
  const std::string message =
      speaker_ + " of " + plugin_ + (place_.empty() ? "" : " (" + place_ + ")") + " failed at " + where + ": " + what;
  if (stop_on_error_) throw Error(message);
  if ((state_.fetch_or(kQuarantined) & kQuarantined) != 0) return;
  log(LOUPE_LOG_ERROR, message + "; it is quarantined, everything else continues (on_error: stop would stop here)");
  if (told_) told_(message);
}

}  // namespace loupe

void loupe_tally::add(const loupe_source& source, const loupe_measurement& measured) {
  const std::lock_guard lock(lock_);
  ++sums_.events;
  sums_.nonzero_events += measured.sum_squares > 0 ? 1 : 0;
  sums_.changed_events += loupe::has_change(measured) && measured.change_sum_squares > 0 ? 1 : 0;
  sums_.sum_squares += measured.sum_squares;
  sums_.last_sum_squares = measured.sum_squares;
  sums_.last = &source;
  if (sums_.largest != nullptr && measured.sum_squares <= sums_.largest_sum_squares) return;
  sums_.largest_sum_squares = measured.sum_squares;
  sums_.largest = &source;
}

loupe_tally_sums loupe_tally::take() {
  const std::lock_guard lock(lock_);
  return std::exchange(sums_, {});
}
