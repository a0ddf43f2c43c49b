#include "black_box/incidents.h"

#include <loupe/detail/parameter_group.h>
#include <loupe/text/words.h>

#include <cmath>

#include "black_box/incident_folder.h"
#include "core/log.h"

namespace loupe {
namespace {

// A trainer may make up a name a step, and an optimizer have a group a parameter.
constexpr std::size_t most_series = 256;

constexpr const char* at_finding = "finding";

/// What counts together. Of the others each has a name of its own: SIGTERM, terminate, …
std::string kind_of_incident(const std::string& how) {
  return how == at_finding || how == "dump" || how == "rank" ? how : "end";
}

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
    known->second.steps.add(event, learning_rate_of(*optimizer.groups[i]).value_or(NAN));
  }
}

void Incidents::consider(const loupe_finding& finding) {
  if (finding.state == LOUPE_FINDING_GONE || !has_room(at_finding) || due_) return;
  if (finding.severity != LOUPE_SEVERITY_ERROR && config_.answer_to(finding.severity) != "dump") return;
  if (!rules_.insert(text_of(finding.rule)).second) return;
  due_ = {
      "finding", message_with_place(finding), text_of(finding.rule), text_of(finding.layer), text_of(finding.parameter),
      finding.id};
}

bool Incidents::has_room(const std::string& kind) const {
  const auto kept = kept_.find(kind);
  return kept == kept_.end() ? config_.incidents > 0 : kept->second < config_.incidents;
}

bool Incidents::admit(const IncidentCause& cause, const RunDescription& run) {
  if (!std::exchange(counted_, true) && run.resumed) {
    for (const IncidentCause& earlier : causes_of_incidents_in(run.directory)) {
      ++kept_[kind_of_incident(earlier.how)];
      if (!earlier.rule.empty()) kept_rules_.insert(earlier.rule);
    }
  }
  const std::string kind = kind_of_incident(cause.how);
  if (kind == at_finding && kept_rules_.count(cause.rule) != 0) return false;
  if (has_room(kind)) return ++kept_[kind] > 0;
  if (kind == at_finding) return false;
  const std::string what = cause.how == "dump" ? "dump(\"" + cause.why + "\") writes nothing"
                                               : "the last steps before " + cause.how + " are not kept";
  log(LOUPE_LOG_WARNING, what + ", because this run has written as many as it may (" +
                             std::to_string(config_.incidents) + "); raise 'incidents' under run");
  return false;
}

}  // namespace loupe
