#pragma once

#include <loupe/lens.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// The course of losses within an epoch. Every few steps it reads the sums of sources, and reports what was added
/// between two readings. So a long epoch costs no more than a short one: if there are too many readings, every second
/// one is dropped, and from then on half as many are made.
class LossByStep {
 public:
  /// Called after each step. Returns whether to call take() for each source.
  bool is_due(std::uint64_t step) {
    if (step == last_step_) return false;  // another optimizer has stepped in the same step
    last_step_ = step;
    return ++steps_ % stride_ == 0;
  }

  void take(const Source& source) {
    for (std::size_t i = 0; i < source.series_count(); ++i) {
      std::vector<Reading>& readings = of(source, i);
      if (readings.size() == MOST_READINGS) thin();
      const SeriesNumbers now = source.read(i);
      readings.push_back({last_step_, now.get(Aggregate::sum).value_or(0), now.count(), now.nan_count()});
    }
  }

  void begin_report() { points_ = static_cast<std::size_t>(1000 / (9 + ++reports_)); }
  /// Reports the means between readings as numbers of single steps. A single number, for example of a loss that comes
  /// once per epoch, is left out.
  void write(Report& report, const Source& source, std::size_t series, const std::string& tag,
             const std::string& line) {
    const std::vector<Reading>& readings = of(source, series);
    const std::size_t apart = points_ > 1 ? (readings.size() + points_ - 1) / points_ : 0;
    std::vector<std::pair<std::uint64_t, double>> points;
    Reading before;
    for (std::size_t i = apart; apart > 0 && i <= readings.size(); i += apart) {
      const Reading& now = readings[i - 1];
      const bool is_broken = now.nan_count > before.nan_count;
      const auto count = static_cast<double>(now.count - before.count);
      if (is_broken || now.count > before.count)
        points.emplace_back(now.step, is_broken ? NAN : (now.sum - before.sum) / count);
      before = now;
    }
    for (std::size_t i = 0; points.size() > 1 && i < points.size(); ++i) {
      Report::Row row(report);
      row.at_step(points[i].first);
      row.value(line, points[i].second);
      row.tell(tag);
    }
  }
  void end_report() {
    for (auto& [source, readings] : readings_) readings.clear();
    steps_ = 0;
    stride_ = 1;
  }
  /// Must be called before the source ends.
  void forget(const Source& source) {
    std::erase_if(readings_, [&](const auto& known) { return known.first.first == source.raw(); });
  }

 private:
  static constexpr std::size_t MOST_READINGS = 200;
  /// The sums of the epoch up to and including a step.
  struct Reading {
    std::uint64_t step = 0;
    double sum = 0;
    std::uint64_t count = 0, nan_count = 0;
  };
  using Key = std::pair<const loupe_source*, std::size_t>;

  std::vector<Reading>& of(const Source& source, std::size_t series) {
    const Key key(source.raw(), series);
    for (auto& [known, readings] : readings_) {
      if (known == key) return readings;
    }
    readings_.emplace_back(key, std::vector<Reading>()).second.reserve(MOST_READINGS);
    return readings_.back().second;
  }
  void thin() {
    stride_ *= 2;
    for (auto& [source, readings] : readings_) {
      std::size_t kept = 0;
      for (std::size_t i = 1; i < readings.size(); i += 2) readings[kept++] = readings[i];
      readings.resize(kept);
    }
  }

  std::vector<std::pair<Key, std::vector<Reading>>> readings_;  // by source and series
  std::uint64_t last_step_ = 0, steps_ = 0, stride_ = 1, reports_ = 0;
  std::size_t points_ = 0;  // at most this many are reported
};

}  // namespace loupe
