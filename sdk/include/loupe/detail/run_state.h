#pragma once

#include <loupe/abi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// Flags of loupe_run for a record without an end that is replayed later: the state of its process.
inline constexpr std::uint32_t RUN_CRASHED = 1u << 30, RUN_UNKNOWN = 1u << 31;

/// The state of a run, in one word that is the same on every page and in every message, and a sentence that explains
/// it.
struct StateOfRun {
  std::string word;  ///< "running", "completed", "failed", "interrupted", "crashed", "unknown" or "ended"
  std::string why;   ///< may be empty
};

/// The state of a run whose record has no end.
inline StateOfRun state_without_end(std::uint32_t flags) {
  return {(flags & RUN_CRASHED) != 0 ? "crashed" : (flags & RUN_UNKNOWN) != 0 ? "unknown" : "running", ""};
}

/// @param how  a LOUPE_END_, 0 if unknown  @param broken_loss  a loss that was NaN to the end
inline StateOfRun state_of_end(std::uint32_t how, std::string message, const std::optional<std::string>& broken_loss) {
  if (how == LOUPE_END_INTERRUPTED) return {"interrupted", std::move(message)};
  if (how == LOUPE_END_FAILED) return {"failed", std::move(message)};
  if (broken_loss) return {"failed", *broken_loss + " was NaN to the end"};
  return {how == LOUPE_END_COMPLETED ? "completed" : "ended", std::move(message)};
}

/// The word as people read it.
inline std::string in_words(const std::string& state) {
  return state == "crashed" ? "crashed or killed" : state == "unknown" ? "running or crashed" : state;
}

/// A sentence about a run without open errors and warnings, the same in a log and in a report.
/// @param resolved  the number of errors and warnings that were resolved
inline std::string problems_in_words(double first_epoch, double last_epoch, std::size_t resolved) {
  if (resolved > 1) return "All " + std::to_string(resolved) + " problems were resolved.";
  if (resolved == 1) return "All problems were resolved.";
  // Epochs may count from 0, and a tick may cover several.
  const long epochs = std::lround(last_epoch - std::min(first_epoch, 1.0) + 1);
  return "No problems found in " + std::to_string(epochs) + (epochs == 1 ? " epoch." : " epochs.");
}

/// Finds the loss that is NaN to the end of a run: in the latest epochs, in the only one, or in the last one while the
/// finding that names the cause is open.
class BrokenLoss {
 public:
  /// The run begins, or continues in a new process, which reports open findings again.
  void begin(std::string train_loss, std::string validation_loss) {
    train_loss_ = std::move(train_loss);
    validation_loss_ = std::move(validation_loss);
    causes_.clear();
  }

  /// The loss or metric that a value of an epoch is about, and whether it is a metric; none for other values.
  std::optional<std::pair<std::string, bool>> name_of(std::string_view tag, std::string_view line) const {
    constexpr std::string_view mean = " mean", shared = "Loss & Metrics";
    if (tag != shared && tag != "Loss" && tag != "Metrics") return std::nullopt;
    if (line.size() <= mean.size() || line.substr(line.size() - mean.size()) != mean) return std::nullopt;
    std::string name(line.substr(0, line.size() - mean.size()));
    const bool is_loss = name.find("loss") != std::string::npos || name == train_loss_ || name == validation_loss_;
    const bool is_metric = tag == shared ? !is_loss : tag == "Metrics";
    return std::pair(std::move(name), is_metric);
  }

  void value(std::string_view tag, std::string_view line, double value) {
    const auto named = name_of(tag, line);
    if (!named || named->second) return;
    auto loss =
        std::find_if(losses_.begin(), losses_.end(), [&](const Loss& each) { return each.name == named->first; });
    if (loss == losses_.end()) {
      if (losses_.size() == MOST_LOSSES) return;
      loss = losses_.insert(loss, {named->first, 0, 0});
    }
    ++loss->count;
    loss->nan_streak = std::isnan(value) ? loss->nan_streak + 1 : 0;
  }

  void finding(std::uint64_t id, std::string_view rule, std::uint32_t severity, std::uint32_t state) {
    const bool names_cause = rule == "non_finite" && severity >= LOUPE_SEVERITY_ERROR && state != LOUPE_FINDING_GONE;
    if (names_cause && causes_.size() < MOST_LOSSES) causes_.insert(id);
    if (!names_cause) causes_.erase(id);
  }

  std::optional<std::string> name() const {
    constexpr std::size_t enough = 2;
    for (const Loss& each : losses_) {
      if (each.nan_streak >= enough || (each.nan_streak > 0 && (!causes_.empty() || each.count == 1))) return each.name;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t MOST_LOSSES = 100;
  struct Loss {
    std::string name;
    std::size_t count, nan_streak;  ///< the number of values, and of consecutive NaN at the end
  };

  std::string train_loss_, validation_loss_;
  std::vector<Loss> losses_;
  std::set<std::uint64_t> causes_;
};

}  // namespace v1_0
}  // namespace loupe
