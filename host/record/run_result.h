#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/finding_history.h"
#include "record/record_line.h"

namespace loupe {

/// What came of a run and what it was set to, as the lines of its record tell.
class RunResult {
 public:
  struct Loss {
    std::string name;
    double last = std::numeric_limits<double>::quiet_NaN();
    double best = std::numeric_limits<double>::quiet_NaN();  ///< the lowest that was finite; NaN without one
    double best_epoch = 0;
  };
  using Settings = std::vector<std::pair<std::string, std::string>>;

  explicit RunResult(const replay::RecordedRun& run) : config_(run.config) {}

  /// @param text the line as it stands in the file. Throws Error for a model or hyperparameter that is none.
  void take(const replay::RecordLine& line, const std::string& text);

  /// In the order in which they were told.
  const std::vector<Loss>& losses() const { return losses_; }
  const Loss* loss(const std::string& name) const;
  const replay::FindingHistory& findings() const { return findings_; }
  bool has_ended() const { return ending_.has_value(); }
  /// "completed", "failed", "not ended".
  std::string state() const;
  /// "2 warnings (1 gone): dead_units of conv1"; "no findings".
  std::string worst_finding() const;
  /// Models, then hyperparameters, as they were told, then what the configuration says, by dotted names.
  Settings settings() const;

 private:
  /// Settings, each found by its name: a record may hold as many as it likes.
  struct Named {
    Settings all;
    std::map<std::string, std::size_t> places;
    void put(const std::string& name, std::string value);
  };

  std::string config_;
  std::vector<Loss> losses_;
  std::map<std::string, std::size_t> loss_places_;
  replay::FindingHistory findings_;
  std::optional<replay::RecordLine> ending_;  // while it is the record's last line
  Named models_, hyperparameters_;
};

}  // namespace loupe
