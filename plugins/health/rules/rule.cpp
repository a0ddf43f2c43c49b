#include "health/rules/rule.h"

#include <loupe/error.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace loupe::health {

Limits::Limits(const Options& options) {
  for (const Rule& rule : rules()) {
    for (const Option& limit : rule.limits) values_[limit.name] = options.get<double>(limit.name.c_str());
  }
}

double Limits::operator[](const char* name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw Error(std::string("no rule of health declares the limit '") + name + "'");
  return found->second;
}

void Judge::tell(Observation seen) const {
  seen.rule = rule->name;
  ledger.tell(report, seen);
}

void Judge::see(Observation seen) const {
  seen.rule = rule->name;
  ledger.see(report, seen);
}

const Rule& rule_named(const char* name) {
  const auto found =
      std::find_if(rules().begin(), rules().end(), [&](const Rule& rule) { return std::strcmp(rule.name, name) == 0; });
  if (found == rules().end()) throw Error(std::string("health has no rule '") + name + "'");
  return *found;
}

void judge_all(When when, const Judge& judge, const Moment& moment) {
  using Looks = std::vector<std::pair<const Rule*, Rule::Look>>;
  static const auto& looks = *[] {
    auto* sorted = new std::array<Looks, static_cast<std::size_t>(When::validation_epoch) + 1>();
    for (const Rule& rule : rules()) {
      for (const Rule::Look& look : rule.looks)
        (*sorted)[static_cast<std::size_t>(look.when)].emplace_back(&rule, look);
    }
    return sorted;
  }();
  for (const auto& [rule, look] : looks[static_cast<std::size_t>(when)]) look.judge(judge.by(*rule), moment);
}

std::vector<Option> options() {
  Strings names;
  for (const Rule& rule : rules()) names.emplace_back(rule.name);
  std::vector<Option> options = {
      {"off", Strings{}, "rules that are not to speak", names},
      {"patience", 2, "windows in a row in which a statistical rule must see something before it speaks", 1, 1e6},
      {"cooldown", 3, "windows without it, after which a finding is over", 1, 1e6},
      {"window", 100, "steps that are judged together; a tick ends a window of 4 steps or more too", 4, 1e9},
      {"baseline", "",
       "what `loupe learn` made of the records of good runs, for departs_from_baseline; relative to the YAML file"},
  };
  for (const Rule& rule : rules()) options.insert(options.end(), rule.limits.begin(), rule.limits.end());
  return options;
}

bool has_rate(const loupe_optimizer* optimizer) {
  if (optimizer == nullptr) return true;
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    if (learning_rate_of(*optimizer->groups[i]) != 0.0) return true;  // also where it is not known
  }
  return false;
}

double reported_dead_share(const Limits& limits) {
  return limits["dead_share"] / 2;
}

std::string shown(const ParameterState& state) {
  return "'" + state.name + "' of '" + state.layer + "'";
}

std::string whose(const Model& model) {
  return model.name.empty() ? "the model" : "'" + model.name + "'";
}

std::string number(double value) {
  return rounded_text(value);
}

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

}  // namespace loupe::health
