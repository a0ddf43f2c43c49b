#ifndef LOUPE_PIPELINE_BLACK_BOX_H
#define LOUPE_PIPELINE_BLACK_BOX_H

#include <loupe/abi.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "pipeline/step_ring.h"

namespace loupe {

/// Why an incident is written.
struct IncidentCause {
  std::string how;  ///< "finding", "dump", "terminate" or "SIGTERM"
  std::string why;  ///< the finding's message, or what the trainer or the exception says; may be empty
  std::string rule, layer, parameter;  ///< of the finding
};

/// What is kept of a run besides the measurements of its streams, and which incidents it still has to write. Calls come
/// one at a time.
class BlackBox {
 public:
  /// @param most  incidents of a run, of those at findings and of those asked for each; 0 for none
  explicit BlackBox(int most) : most_(most) {}

  void pushed(const std::string& label, double value, uint32_t flags, uint64_t step);
  void stepped(const loupe_optimizer& optimizer, uint64_t step);
  /// A finding was raised that is worth an incident: once a rule.
  void ask(const loupe_finding& finding);
  /// The incident that is due, if any: for a moment when no component is being called.
  std::optional<IncidentCause> take_due();
  /// Whether one that the trainer asks for may still be written; counts it.
  bool allow_dump() { return dumps_ < most_ && ++dumps_ > 0; }
  int most() const { return most_; }

  const std::map<std::string, StepRing>& pushes() const { return pushes_; }
  struct Rates {
    std::string name;  ///< "generator Adam group 0"
    StepRing ring;
  };
  using GroupKey = std::pair<uint64_t, std::size_t>;  ///< the optimizer's id, and which of its groups
  const std::map<GroupKey, Rates>& rates() const { return rates_; }

 private:
  int most_, written_ = 0, dumps_ = 0;
  std::set<std::string> rules_;  // that had theirs
  std::optional<IncidentCause> due_;
  std::map<std::string, StepRing> pushes_;
  std::map<GroupKey, Rates> rates_;
};

}  // namespace loupe

#endif
