#include "health/rules/rule.h"

#include <loupe/draft/option_names.h>
#include <loupe/error.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>

namespace loupe::health {
namespace {

/// The rules that the lens or the host applies itself.
std::vector<Rule> lens_rules() {
  return {
      {.name = non_finite,
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error, warning or info; a NaN or Inf, where it is, and what made it; a warning if only unmeasured "
               "steps had it, "
               "info if it did no harm",
       .measure = "outputs, gradients and stepped parameters, where a NaN or Inf reaches parameters or the loss",
       .remedy =
           "check what the finding names: an operation without a finite result or slope, data, or steps too large",
       .brings_about = {{.effects = {"exploding_gradient", "dead_units", "constant_output", "loss_spike",
                                     "diverging_loss", "update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 0,
       .example = R"(-auto p = torch::sigmoid(model->forward(x));
-auto loss = -(y * p.log()).mean();  // log(0) is -inf
+auto scores = model->forward(x);
+auto loss = torch::binary_cross_entropy_with_logits(scores, y);)"},
      {.name = unregistered_module,
       .help = "warning; a module with parameters runs in the model and is never trained",
       .measure = "modules that run within the model, compared with those that it registers",
       .remedy =
           "register it with register_module in the module that uses it, or give its parameters to an optimizer; a "
           "frozen one needs requires_grad_(false)",
       .example = R"( struct Net : torch::nn::Module {
-  torch::nn::Linear hidden{784, 128};  // parameters() does not have it
+  torch::nn::Linear hidden =
+      register_module("hidden", torch::nn::Linear(784, 128));
 };)"},
      {.name = "departs_from_baseline",
       .help = "warning or error; the first series outside its range in good runs, if a baseline is given; an error if "
               "that is "
               "of another model",
       .measure = "each series of each epoch, compared with its range in the good runs",
       .remedy = "find what differs between this run and the good ones: data, settings, code",
       .example = R"(-// The runs that `loupe learn` was given had a rate of 1e-3.
-torch::optim::Adam optimizer(model->parameters(), 1e-2);
+torch::optim::Adam optimizer(model->parameters(), 1e-3);)"},
  };
}

}  // namespace

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

Observation Judge::completed(Observation seen, std::string message, std::string advice) const {
  seen.rule = rule;
  seen.at_tick = when >= When::tick && when != When::losses;
  if (seen.severity == 0) seen.severity = rule->severity;
  if (*seen.tag == '\0') seen.tag = rule->tag;
  if (!message.empty()) seen.message = std::move(message);
  if (!advice.empty()) seen.advice = std::move(advice);
  if (seen.advice.empty()) seen.advice = rule->remedy;
  return seen;
}

const std::vector<Rule>& rules() {
  static const auto& table = *[] {
    auto* all = new std::vector<Rule>();
    for (const auto& theme : {lens_rules, loop_rules, data_rules, comparison_rules, optimizer_rules, setting_rules,
                              loss_input_rules, collapse_rules, clipping_rules, gradient_rules, activation_rules,
                              update_rules, layer_rules, loss_rules, speed_rules}) {
      for (Rule& rule : theme()) all->push_back(std::move(rule));
    }
    for (Rule& cause : *all) {
      for (Rule& each : *all) {
        cause.effects.push_back(
            std::ranges::any_of(cause.brings_about, [&](const Effects& some) { return some.has(each.name); }));
      }
    }
    for (std::size_t i = 0; i < all->size(); ++i) (*all)[i].number = i;
    return all;
  }();
  return table;
}

const Rule& rule_named(const char* name) {
  const auto found = std::ranges::find_if(rules(), [&](const Rule& rule) { return std::strcmp(rule.name, name) == 0; });
  if (found == rules().end()) throw Error(std::string("health has no rule '") + name + "'");
  return *found;
}

std::string Rule::lines_with(char sign) const {
  std::string text;
  std::istringstream lines(example);
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == sign || line[0] == ' ') text += (text.empty() ? "" : "\n") + line.substr(1);
  }
  return text;
}

void judge_all(When when, const Judge& judge, const Situation& situation) {
  using Looks = std::vector<std::pair<const Rule*, Rule::Look>>;
  static const auto& looks = *[] {
    auto* sorted = new std::array<Looks, static_cast<std::size_t>(When::validation_epoch) + 1>();
    for (const Rule& rule : rules()) {
      for (const Rule::Look& look : rule.looks)
        (*sorted)[static_cast<std::size_t>(look.when)].emplace_back(&rule, look);
    }
    return sorted;
  }();
  for (const auto& [rule, look] : looks[static_cast<std::size_t>(when)]) look.judge(judge.by(*rule, when), situation);
}

std::vector<Option> options() {
  Strings names;
  for (const Rule& rule : rules()) names.emplace_back(rule.name);
  std::vector<Option> options = {
      {"off", Strings{}, "rules to disable", names},
      {"patience", 2, "windows in a row in which a statistical rule must see a fault before it reports it", 1, 1e6},
      {"cooldown", 3, "windows without the fault, after which a finding is resolved", 1, 1e6},
      {"window", 100, "steps that are judged together; a tick also ends a window of 4 steps or more", 4, 1e9},
      draft::file_option(
          "baseline", "",
          "the file that `loupe learn` made from records of good runs, for departs_from_baseline; relative to "
          "the YAML file"),
  };
  for (const Rule& rule : rules()) options.insert(options.end(), rule.limits.begin(), rule.limits.end());
  return options;
}

bool has_rate(const loupe_optimizer* optimizer) {
  if (optimizer == nullptr) return true;
  const std::span groups(optimizer->groups, optimizer->group_count);
  const auto is_own = [](const loupe_parameter_group* group) { return group->parameter_count > 0; };
  const bool knows_own = std::ranges::any_of(groups, is_own);
  return std::ranges::any_of(groups, [&](const loupe_parameter_group* group) {
    return (is_own(group) || !knows_own) && learning_rate_of(*group) != 0.0;  // also if the rate is unknown
  });
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
