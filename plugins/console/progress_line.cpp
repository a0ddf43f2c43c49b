#include "console/progress_line.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "console/text.h"

namespace loupe::console {
namespace {

std::string bar(double share) {
  constexpr int length = 16;
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * length);
  std::string text;
  for (int i = 0; i < length; ++i) text += i < full ? "━" : "─";
  return text;
}

// Of the whole run where its length is known, else of the epoch; negative when nobody can say.
double seconds_left(const Progress& progress) {
  if (progress.steps == 0 || progress.steps_before == 0 || progress.seconds <= 0) return -1;
  const double rate = static_cast<double>(progress.steps) / progress.seconds;
  const auto an_epoch = static_cast<double>(progress.steps_before);
  const double this_epoch = std::max(0.0, an_epoch - static_cast<double>(progress.steps));
  const double later = std::max(0.0, progress.epochs - progress.at.epoch) * an_epoch;
  return (this_epoch + later) / rate;
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e15)));
  const std::int64_t minutes = whole / 60, hours = minutes / 60;
  if (hours > 0) return std::to_string(hours) + " h " + std::to_string(minutes % 60) + " min";
  if (minutes > 0) return std::to_string(minutes) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole) + " s";
}

std::string progress_line(const Progress& progress, std::size_t width) {
  struct Part {
    std::string text;
    int importance;
  };
  std::vector<Part> parts;
  const std::string of_all = progress.epochs > 0 ? " of " + number_text(progress.epochs) : "";
  parts.push_back({"epoch " + number_text(progress.at.epoch) + of_all, 6});
  const std::string steps = std::to_string(progress.steps);
  if (progress.steps_before > 0) {
    parts.push_back({bar(static_cast<double>(progress.steps) / static_cast<double>(progress.steps_before)), 1});
    // The epoch before need not have been as long.
    const std::uint64_t expected = std::max(progress.steps, progress.steps_before);
    parts.push_back({steps + " of " + std::to_string(expected) + " steps", 4});
  } else {
    parts.push_back({steps + " steps", 4});
  }
  if (progress.seconds > 0 && progress.steps > 0) {
    parts.push_back({short_number(static_cast<double>(progress.steps) / progress.seconds) + " steps/s", 3});
  }
  if (const double left = seconds_left(progress); left >= 0) {
    parts.push_back({duration_text(left) + " left" + (progress.epochs > 0 ? "" : " in this epoch"), 5});
  }
  if (progress.seconds > 0 && progress.lens_seconds > 0) {
    const double share = std::min(100 * progress.lens_seconds / progress.seconds, 100.0);
    parts.push_back({"lenses " + (share < 1 ? "<1" : std::to_string(std::lround(share))) + " %", 2});
  }

  const auto joined = [&parts] {
    std::string text;
    for (const Part& part : parts) text += (text.empty() ? "" : "  ") + part.text;
    return text;
  };
  while (parts.size() > 1 && display_width(joined()) > width) {
    parts.erase(std::min_element(parts.begin(), parts.end(),
                                 [](const Part& a, const Part& b) { return a.importance < b.importance; }));
  }
  return shortened(joined(), width);
}

void Pace::take(const Tick& tick) {
  seconds_ = tick.at.elapsed - last_elapsed_;
  steps_ = tick.at.step - last_step_;
  last_elapsed_ = tick.at.elapsed;
  last_step_ = tick.at.step;
}

std::string Pace::text() const {
  constexpr double shortest = 0.001;
  if (!(seconds_ >= shortest)) return "";
  const std::string seconds = rounded_text(seconds_) + " s";
  if (steps_ == 0) return seconds;
  const double rate = static_cast<double>(steps_) / seconds_;
  constexpr double many = 100;
  return seconds + "  " + (rate < many ? rounded_text(rate) : std::to_string(std::llround(rate))) + " steps/s";
}

}  // namespace loupe::console
