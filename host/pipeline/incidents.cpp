#include "pipeline/incidents.h"

#include <loupe/text/text_of.h>

#include "core/log.h"

namespace loupe {
namespace {

// A trainer may make up a name a step, and an optimizer have a group a parameter.
constexpr std::size_t most_series = 256;

}  // namespace

void Incidents::pushed(const std::string& label, double value, uint32_t flags, uint64_t step) {
  auto known = pushes_.find(label);
  if (known == pushes_.end()) {
    if (pushes_.size() >= most_series) return;
    known = pushes_.try_emplace(label).first;
  }
  loupe_event event{};
  event.tap = LOUPE_TAP_PUSH;
  event.flags = flags;
  event.step = step;
  known->second.add(event, value);
}

void Incidents::stepped(const loupe_optimizer& optimizer, uint64_t step) {
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    auto known = rates_.find({optimizer.id, i});
    if (known == rates_.end()) {
      if (rates_.size() >= most_series) return;
      known = rates_.try_emplace({optimizer.id, i}).first;
      const std::string model = optimizer.model != nullptr ? optimizer.model : "";
      known->second.name = model + (model.empty() ? "" : " ") + optimizer.type + " group " + std::to_string(i);
    }
    loupe_event event{};
    event.tap = LOUPE_TAP_OPTIMIZER_STEP;
    event.step = step;
    known->second.steps.add(event, optimizer.groups[i]->learning_rate);
  }
}

void Incidents::consider(const loupe_finding& finding) {
  if (finding.state == LOUPE_FINDING_GONE || written_ >= config_.incidents || due_) return;
  if (finding.severity != LOUPE_SEVERITY_ERROR && config_.answer_to(finding.severity) != "dump") return;
  if (!rules_.insert(text_of(finding.rule)).second) return;
  due_ = {"finding", text_of(finding.message), text_of(finding.rule), text_of(finding.layer),
          text_of(finding.parameter)};
}

std::optional<IncidentCause> Incidents::take_due() {
  if (!due_) return std::nullopt;
  ++written_;
  return std::exchange(due_, std::nullopt);
}

bool Incidents::allow_dump(const std::string& why) {
  if (dumps_ < config_.incidents) return ++dumps_ > 0;
  log(LOUPE_LOG_WARNING, "dump(\"" + why + "\") writes nothing, because this run has written as many as it may (" +
                             std::to_string(config_.incidents) + "); raise 'incidents' under run");
  return false;
}

}  // namespace loupe
