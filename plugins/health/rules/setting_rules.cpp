// Rules about settings that contradict each other or the program.

#include <loupe/draft/tensor_math.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/rules/rate_history.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

/// The default learning rate of LibTorch's options; 0 for a type that has none.
double rate_without_setting(std::string_view type) {
  if (type == "Adam" || type == "AdamW") return 1e-3;
  return type == "RMSprop" || type == "Adagrad" ? 1e-2 : 0;
}

/// Asks only at fully measured steps, as it is slow compared with the other work. Nullopt for types that may use their
/// defaults in other ways.
std::optional<double> default_rate_of(const Judge& judge, const Situation& situation) {
  if (!situation.model->resting.is_looking() || std::string_view(situation.optimizer->type) == "optimizer")
    return std::nullopt;
  auto& service = situation.rates->defaults_service;
  if (!service) service = draft::optimizer_defaults(judge.host);
  return draft::default_learning_rate(judge.host, *service);
}

bool has_same_rates(const loupe_optimizer& optimizer, const std::vector<double>& rates) {
  if (rates.size() != optimizer.group_count) return false;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (learning_rate_of(*optimizer.groups[i]) != rates[i]) return false;
  }
  return true;
}

/// The defaults were set several times, but never the rate of a group: a schedule writes a rate that no step reads. A
/// single change may be for later groups.
void judge_unused_rate(const Judge& judge, const Situation& situation) {
  const loupe_optimizer& optimizer = *situation.optimizer;
  if (!situation.rates->is_judged_with(situation.model, optimizer.id)) return;
  const std::optional<double> rate = default_rate_of(judge, situation);
  if (!rate || optimizer.group_count == 0) return;
  RateHistory::Defaults& known = situation.rates->defaults[optimizer.id];
  if (!has_same_rates(optimizer, known.groups)) {
    known = {.first = *rate, .rate = *rate};
    for (std::size_t i = 0; i < optimizer.group_count; ++i)
      known.groups.push_back(learning_rate_of(*optimizer.groups[i]).value_or(NAN));
    return;
  }
  known.changes += *rate != known.rate ? 1 : 0;
  known.rate = *rate;
  constexpr uint32_t enough = 2;
  if (known.changes < enough) return;
  judge.tell(
      {.module = situation.model->root, .value = known.groups[0], .threshold = known.rate},
      sentence("the learning rate in the defaults() of ", optimizer.type, " was set ", known.changes, " times, from ",
               known.first, " to ", known.rate, ", but that of its ", optimizer.group_count > 1 ? "groups" : "group",
               " stays ", known.groups[0], ": a step uses the group's rate"));
}

/// A group's options replace all of the optimizer's. The group's rate may be intended, so this is info.
void judge_default_rate(const Judge& judge, const Situation& situation) {
  const loupe_optimizer& optimizer = *situation.optimizer;
  const double usual = rate_without_setting(optimizer.type);
  if (usual == 0 || optimizer.group_count < 2) return;
  if (!situation.rates->is_judged_with(situation.model, optimizer.id)) return;
  const std::optional<double> rate = default_rate_of(judge, situation);
  if (!rate || *rate == usual) return;
  std::size_t without = optimizer.group_count, like_defaults = optimizer.group_count;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    const double its = learning_rate_of(*optimizer.groups[i]).value_or(NAN);
    if (its == usual && without == optimizer.group_count) without = i;
    if (its == *rate && like_defaults == optimizer.group_count) like_defaults = i;
  }
  if (without == optimizer.group_count || like_defaults == optimizer.group_count) return;
  judge.tell({.module = situation.model->root,
              .parameter = "group " + std::to_string(without),
              .value = usual,
              .threshold = *rate},
             sentence("group ", without, " of ", optimizer.type, " has a learning rate of ", usual,
                      ", LibTorch's default, and group ", like_defaults, " has the optimizer's own, ", *rate,
                      ": a group's options replace all of the optimizer's"),
             sentence("unless this is intended for group ", without,
                      ", set the rate in its options, too: ", optimizer.type, "Options(", *rate, ")"));
}

/// The targets show which dimension has the samples: here the one that a recurrent layer uses as time.
void judge_batch_not_first(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  const Model::Step& step = model.step;
  if (step.time_first == nullptr || step.targets == 0) return;
  const bool is_swapped = step.times == step.targets && step.sequences != step.targets && step.sequences > 1 &&
                          step.times > 1 && step.target_columns != step.sequences;
  model.swapped_batches = is_swapped ? model.swapped_batches + 1 : 0;
  constexpr uint32_t enough = 3;
  if (model.swapped_batches < enough) return;
  judge.tell({.module = step.time_first->module,
              .value = static_cast<double>(step.times),
              .place = step.time_first->first_run},
             sentence("'", step.time_first->name,
                      "' uses the first dimension of its input as time, as batch_first is "
                      "false, but that has ",
                      step.times, " entries, as many as there are targets, and the second has ", step.sequences,
                      ": it reads the samples of the batch as a sequence"));
}

}  // namespace

std::vector<Rule> setting_rules() {
  return {
      {.name = "unused_rate",
       .help = "warning; a schedule sets the learning rate where no step reads it",
       .measure = "the rates in the optimizer's defaults() and in its groups: set twice, and never used",
       .remedy = "set the rate of each group: for (auto& group : optimizer.param_groups()) "
                 "group.options().set_lr(rate); defaults() are for groups that are added later, without options",
       .looks = {{When::optimizer, &judge_unused_rate}},
       .brings_about = {{.effects = {"loss_oscillating", "loss_not_decreasing"}, .strength = Strength::hint}},
       .example = R"(-using torch::optim::AdamOptions;
 for (int epoch = 0; epoch < 20; ++epoch) {
   train(model, optimizer);
-  auto& defaults = static_cast<AdamOptions&>(optimizer.defaults());
-  defaults.lr(0.9 * defaults.lr());  // the groups keep theirs
+  for (auto& group : optimizer.param_groups())
+    group.options().set_lr(0.9 * group.options().get_lr());
 })"},
      {.name = "default_rate",
       .severity = LOUPE_SEVERITY_INFO,
       .help = "info; a group has LibTorch's default learning rate, while others have the optimizer's",
       .measure = "each group's rate, compared with LibTorch's default and the optimizer's",
       .remedy = "set the rate in the options of each group",
       .looks = {{When::optimizer, &judge_default_rate}},
       .example = R"(-// Beside AdamW(groups, AdamWOptions(3e-5)): a rate of 1e-3.
 groups.emplace_back(biases, std::make_unique<AdamWOptions>(
-                                AdamWOptions().weight_decay(0)));
+                                AdamWOptions(3e-5).weight_decay(0)));)"},
      {.name = "batch_not_first",
       .help = "warning; a recurrent layer reads the samples of a batch as a sequence",
       .measure = "the sizes of a recurrent layer's input, compared with the number of targets, three steps in a row",
       .remedy = "set batch_first(true) in its options, or give it (time, batch, features)",
       .looks = {{When::step, &judge_batch_not_first}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-torch::nn::LSTM lstm(torch::nn::LSTMOptions(8, 32));
+torch::nn::LSTM lstm(torch::nn::LSTMOptions(8, 32).batch_first(true));
 auto out = lstm->forward(inputs);  // inputs: (batch, time, features))"},
  };
}

}  // namespace loupe::health
