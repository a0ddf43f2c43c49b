#include "pipeline/black_box.h"

namespace loupe {
namespace {

// A trainer may make up a name a step, and an optimizer have a group a parameter.
constexpr std::size_t most_series = 256;

}  // namespace

void BlackBox::pushed(const std::string& label, double value, uint32_t flags, uint64_t step) {
  auto known = pushes_.find(label);
  if (known == pushes_.end()) {
    if (pushes_.size() >= most_series) return;
    known = pushes_.try_emplace(label).first;
  }
  loupe_event event{};
  event.tap = LOUPE_TAP_PUSH;
  event.flags = flags;
  event.step = step;
  known->second.take(event, value);
}

void BlackBox::stepped(const loupe_optimizer& optimizer, uint64_t step) {
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
    known->second.ring.take(event, optimizer.groups[i]->learning_rate);
  }
}

void BlackBox::ask(const loupe_finding& finding) {
  const auto text = [](const char* each) { return std::string(each != nullptr ? each : ""); };
  if (written_ >= most_ || due_ || !rules_.insert(text(finding.rule)).second) return;
  due_ = {"finding", text(finding.message), text(finding.rule), text(finding.layer), text(finding.parameter)};
}

std::optional<IncidentCause> BlackBox::take_due() {
  if (!due_) return std::nullopt;
  ++written_;
  return std::exchange(due_, std::nullopt);
}

}  // namespace loupe
