#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "black_box/last_steps.h"
#include "config/config.h"
#include "show/display.h"

namespace loupe {

/// Why an incident is written.
struct IncidentCause {
  std::string how;  ///< "finding", "dump", "terminate" or "SIGTERM"
  std::string why;  ///< the finding's message, or what the trainer or the exception says; may be empty
  std::string rule = {}, layer = {}, parameter = {};  ///< of the finding
  uint64_t finding = 0;                               ///< its number
};

/// Decides which incidents a run writes, and keeps the last steps of pushed values and learning rates.
/// Calls come one at a time.
class Incidents {
 public:
  /// @param config  outlives this
  explicit Incidents(const Config& config) : config_(config) {}

  void pushed(const std::string& label, double value, uint32_t flags, uint64_t step);
  void stepped(const loupe_optimizer& optimizer, uint64_t step);
  /// A finding was told. An incident becomes due at the first error of each rule, and where `on_finding` says `dump`.
  void consider(const loupe_finding& finding);
  /// The incident that is due, if any.
  std::optional<IncidentCause> take_due() { return std::exchange(due_, std::nullopt); }
  /// Whether the run may write one more of this kind: at findings, at abnormal ends and for the trainer each. Counts it
  /// then, beside those that are in the folder of a run that was resumed. Tells why not where that was asked for.
  /// @param run  with the folder that it has claimed
  bool admit(const IncidentCause& cause, const RunDescription& run);

  const std::map<std::string, LastSteps>& pushes() const { return pushes_; }
  struct Rates {
    std::string name;  ///< "generator Adam group 0"
    LastSteps steps;
  };
  using GroupKey = std::pair<uint64_t, std::size_t>;  ///< the optimizer's id, and which of its groups
  const std::map<GroupKey, Rates>& rates() const { return rates_; }

 private:
  bool has_room(const std::string& kind) const;

  const Config& config_;
  std::map<std::string, int> kept_;           // by kind
  bool counted_ = false;                      // what was kept before the run was resumed
  std::set<std::string> rules_, kept_rules_;  // that have had theirs, and those that had theirs before
  std::optional<IncidentCause> due_;
  std::map<std::string, LastSteps> pushes_;
  std::map<GroupKey, Rates> rates_;
};

}  // namespace loupe
