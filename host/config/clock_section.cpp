#include "config/sections.h"

#include <yaml-cpp/yaml.h>
#include <charconv>

#include "config/yaml_text.h"

namespace loupe {
namespace {

/// Whatever the locale's decimal point is.
bool read(const std::string& text, double& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}
bool read(const std::string& text, uint64_t& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

bool has_named_tick(const YAML::Node& run) {
  if (!run.IsMap()) return false;
  const YAML::Node tick = value_of(run, "tick");
  return !tick.IsMap() && !tick.IsNull();
}

}  // namespace

std::string TickRule::words() const {
  if (by == By::steps) return std::to_string(steps) + (steps == 1 ? " step" : " steps");
  return by == By::seconds ? text_of(seconds) + (seconds == 1 ? " second" : " seconds") : "epoch";
}

TickRule read_tick(const YAML::Node& run, Diagnostics& diagnostics) {
  TickRule rule;
  const YAML::Node tick = run.IsMap() ? value_of(run, "tick") : YAML::Node(YAML::NodeType::Null);
  if (tick.IsNull() || (tick.IsScalar() && tick.Scalar() == "epoch")) return rule;
  if (!tick.IsMap()) {
    diagnostics.error(tick, "run.tick is epoch, {steps: n} or {seconds: s}, not " + describe_node(tick));
    return rule;
  }
  check_keys(tick, {"steps", "seconds", "of"}, "in run.tick", diagnostics);
  const YAML::Node steps = value_of(tick, "steps"), seconds = value_of(tick, "seconds"), of = value_of(tick, "of");
  if (steps.IsNull() == seconds.IsNull()) {
    diagnostics.error(tick, "run.tick counts either steps or seconds: {steps: 500} or {seconds: 30}");
    return rule;
  }
  if (!steps.IsNull()) {
    rule.by = TickRule::By::steps;
    if (!steps.IsScalar() || !read(steps.Scalar(), rule.steps) || rule.steps == 0)
      diagnostics.error(steps, "run.tick.steps must be a whole number from 1 on, not " + describe_node(steps));
  } else {
    constexpr double fewest = 1e-3, most = 1e9;
    rule.by = TickRule::By::seconds;
    const bool is_number = seconds.IsScalar() && read(seconds.Scalar(), rule.seconds);
    if (!is_number || !(rule.seconds >= fewest && rule.seconds <= most))
      diagnostics.error(seconds, "run.tick.seconds must be a number of seconds above 0, not " + describe_node(seconds));
  }
  if (of.IsNull()) return rule;
  if (rule.by != TickRule::By::steps || !of.IsScalar() || of.Scalar().empty()) {
    diagnostics.error(of,
                      "run.tick.of names the model whose optimizer's steps count, beside steps: "
                      "{steps: 500, of: generator}");
    return rule;
  }
  rule.of = of.Scalar();
  return rule;
}

YAML::Node without_named_tick(const YAML::Node& run) {
  if (!has_named_tick(run)) return run;
  YAML::Node rest(YAML::NodeType::Map);
  for (const auto& entry : run) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "tick") rest[entry.first] = entry.second;
  }
  return rest;
}

double read_budget(const YAML::Node& attach, Diagnostics& diagnostics) {
  const YAML::Node budget = attach.IsMap() ? value_of(attach, "budget") : YAML::Node(YAML::NodeType::Null);
  if (!budget.IsScalar() || budget.Scalar().empty() || budget.Scalar() == "none") return 0;
  std::string text = budget.Scalar();
  const bool has_sign = text.back() == '%';
  if (has_sign) text.pop_back();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  double percent = 0;
  if (!has_sign || !read(text, percent) || !(percent >= 0.001 && percent <= 100)) {
    diagnostics.error(budget, "attach.budget is a share of the time such as 1%, between 0.001% and 100%, not " +
                                  describe_node(budget));
    return 0;
  }
  return percent / 100;
}

}  // namespace loupe
