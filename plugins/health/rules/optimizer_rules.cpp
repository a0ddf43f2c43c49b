// Rules about the optimizer: its learning rates, and the parameters that it holds.

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "health/rules/rate_history.h"
#include "health/rules/rule.h"

namespace loupe::health {

void RateHistory::Group::follow(double rate, uint64_t ticks) {
  constexpr double near = 0.1, next_to_nothing = 1e-4, many_times = 100, implausible = 10;
  steps = ticks == now_at ? steps + 1 : 1;
  ++all_steps;
  now_at = ticks;
  if (first == 0) first = rate;
  high_steps = first > 0 && rate > many_times * first && rate > implausible ? high_steps + 1 : 0;
  if (rate >= near * std::max(rate, largest)) {
    high_at = ticks;
    is_low = false;
  } else if (!is_low && rate > 0 && rate < next_to_nothing * largest && high_at == ticks) {
    is_low = true;
    low_at = ticks;
    low_steps = steps;
  }
  // A cycle's steps are small, so compare with the lowest rate.
  if (rate < largest) lowest = std::min(lowest, rate);
  largest = std::max(largest, rate);
  returned = returned || rate > 1.1 * lowest;
}

void RateHistory::forget_streaks() {
  constexpr uint32_t in_a_row = 2;
  for (auto& [key, group] : groups) {
    if (group.zeros < in_a_row) group.zeros = 0;
  }
}

bool RateHistory::is_annealed(const loupe_optimizer* optimizer) const {
  if (optimizer == nullptr) return false;
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    const auto found = groups.find({optimizer->id, i});
    const double rate = learning_rate_of(*optimizer->groups[i]).value_or(NAN);
    if (found == groups.end() || !(rate < 0.05 * found->second.largest)) return false;
  }
  return true;
}

std::string RateHistory::text(const loupe_optimizer* optimizer) const {
  if (optimizer == nullptr || optimizer->group_count == 0) return "";
  const double rate = learning_rate_of(*optimizer->groups[0]).value_or(NAN);
  const auto found = groups.find({optimizer->id, 0});
  if (found == groups.end() || std::isnan(rate)) return "";
  const bool fell = found->second.largest > rate;
  return "; the learning rate is " + number(rate) + (fell ? ", and was " + number(found->second.largest) : "");
}

bool RateHistory::any_returned() const {
  return std::ranges::any_of(groups, [](const auto& each) { return each.second.returned; });
}

namespace {

/// "group 1"; empty for the only one.
std::string group_name(const loupe_optimizer& optimizer, std::size_t group) {
  return optimizer.group_count > 1 ? "group " + std::to_string(group) : "";
}

void judge_zero_rate(const Judge& judge, const Situation& situation) {
  const loupe_optimizer& optimizer = *situation.optimizer;
  if (!situation.rates->is_judged_with(situation.model, optimizer.id)) return;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    RateHistory::Group& group = situation.rates->groups[{optimizer.id, i}];
    const double rate = learning_rate_of(*optimizer.groups[i]).value_or(NAN);
    group.follow(rate, situation.model->ticks);
    if (rate != 0) {
      group.zeros = 0;
      if (rate > 0) group.last_nonzero = rate;
      continue;
    }
    // A warm-up may begin at 0, and annealing may end there.
    const bool annealed = group.largest > 0 && group.last_nonzero < 0.05 * group.largest;
    const bool may_be_meant = annealed && (situation.epochs_to_come < 1 || group.returned);
    const uint64_t patience = may_be_meant ? std::max<uint64_t>(10, group.all_steps / 10) : 2;
    if (++group.zeros < patience) continue;
    const std::string which = group_name(optimizer, i);
    const double to_come = annealed ? situation.epochs_to_come : 0;
    judge.tell({.module = situation.model->root, .parameter = which, .value = 0},
               sentence("the learning rate of ", optimizer.type, which.empty() ? "" : ", " + which + ",",
                        " is 0, so its steps change nothing",
                        to_come >= 1 ? sentence(", and the loop still has ", to_come,
                                                to_come == 1 ? " more epoch" : " more epochs", " after this one")
                                     : ""));
  }
}

/// Reports a rate that becomes uselessly small or large, as with an epoch schedule that is stepped with each batch.
void judge_rate_change(const Judge& judge, const Situation& situation) {
  const loupe_optimizer& optimizer = *situation.optimizer;
  if (!situation.rates->is_judged_with(situation.model, optimizer.id)) return;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    const RateHistory::Group& group = situation.rates->groups[{optimizer.id, i}];
    const double rate = learning_rate_of(*optimizer.groups[i]).value_or(NAN);
    constexpr uint64_t steps_enough = 2;
    const bool fell = group.is_low && rate > 0 && group.now_at > group.low_at && group.steps >= steps_enough;
    const bool rose = group.high_steps >= steps_enough;
    if (!fell && !rose) continue;
    judge.tell({.module = situation.model->root,
                .parameter = group_name(optimizer, i),
                .value = rate,
                .threshold = fell ? group.largest : group.first},
               sentence("the learning rate of ", optimizer.type,
                        fell ? sentence(" fell from ", group.largest, " to ", rate, ", most of it within ",
                                        group.low_steps, " steps of one epoch, and training continues")
                             : sentence(" rose from ", group.first, " to ", rate)));
  }
}

/// Reports decay that shrinks the weights with each step, against the gradients.
void judge_decay(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  if (!(model.weight_decay > 0)) return;
  double decay = 0, gradient = 0, now = 0, first = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || each.gradient_count == 0 || each.first_norm == 0) continue;
    const double mean = each.gradient_norm_sum / static_cast<double>(each.gradient_count);
    decay += each.norm * each.norm;
    gradient += mean * mean;
    now += each.norm * each.norm;
    first += each.first_norm * each.first_norm;
  }
  decay = model.weight_decay * std::sqrt(decay);
  gradient = std::sqrt(gradient);
  constexpr double collapsed = 0.25, nearly_as_large = 0.5;
  const double share = first > 0 ? std::sqrt(now / first) : 1;
  if (share > collapsed || decay < nearly_as_large * gradient) return;
  judge.see({.module = model.root, .value = share, .threshold = collapsed},
            sentence("weight decay outweighs the gradients: ", percent(share),
                     " of the weights' norm after the first step is left, and a step has a decay of ", decay, " (",
                     model.weight_decay, " times the weights) and a gradient of ", gradient));
}

void judge_reset(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  constexpr int enough = 2;
  if (model.start.same < enough) return;
  judge.tell(
      {.module = model.root, .value = static_cast<double>(model.start.same + 1)},
      sentence("the weights of ", whose(model), " were the same at the beginning of each of the last ",
               model.start.same + 1, " epochs, although steps changed them in between: something restores them"));
}

void judge_new_optimizer(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  Model::NewestOptimizer& newest = model.newest;
  const loupe_optimizer& optimizer = *situation.optimizer;
  constexpr uint32_t enough = 3;
  if (optimizer.id > newest.id) {
    int64_t elements = 0;
    bool has_state = std::string_view(optimizer.type) != "SGD";
    for (std::size_t i = 0; i < optimizer.group_count; ++i) {
      elements += optimizer.groups[i]->element_count;
      has_state = has_state || momentum_of(*optimizer.groups[i]).value_or(0) > 0;
    }
    // An optimizer with different parameters is for another stage of training.
    const bool is_like = newest.id != 0 && has_state && elements == newest.elements;
    newest.after_a_step = is_like && newest.steps == 1 ? newest.after_a_step + 1 : 0;
    newest.after_an_epoch = is_like && model.ticks == newest.at_tick + 1 ? newest.after_an_epoch + 1 : 0;
    newest.id = optimizer.id;
    newest.at_tick = model.ticks;
    newest.elements = elements;
    newest.steps = 0;
  }
  if (optimizer.id == newest.id) ++newest.steps;
  const bool in_steps = newest.after_a_step >= enough;
  if ((!in_steps && newest.after_an_epoch < enough) || model.ticks > newest.at_tick + 1) return;
  const uint32_t times = in_steps ? newest.after_a_step : newest.after_an_epoch;
  judge.tell({.module = model.root, .value = static_cast<double>(times + 1)},
             sentence("a new ", optimizer.type, " was created for the same parameters in each of the last ", times + 1,
                      (in_steps ? " steps" : " epochs"), ": its averages of the gradients start again each time"));
}

}  // namespace

std::vector<Rule> optimizer_rules() {
  return {
      {.name = "zero_learning_rate",
       .help = "warning; a parameter group's rate stays 0",
       .measure = "a group's rate in each step: 0 twice in a row, later where a schedule ends",
       .remedy = "check where the rate is set; to freeze parameters, use requires_grad_(false)",
       .looks = {{When::settings, &judge_zero_rate}},
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 1,
       .example = R"(-torch::optim::SGD optimizer(model->parameters(), 1 / 1000);  // 0
+torch::optim::SGD optimizer(model->parameters(), 1.0 / 1000);)"},
      {.name = "weights_reset",
       .help = "warning; each epoch begins with the same weights again",
       .measure = "weights at the beginning of three epochs, between which steps changed them by 1e-6 and more",
       .remedy =
           "check for code in the epoch loop that loads or initializes weights; to continue a checkpoint, load it once",
       .looks = {{When::tick, &judge_reset}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-for (int epoch = 0; epoch < 20; ++epoch) {
-  torch::load(model, "start.pt");  // undoes the epoch before
-  train(model);
-}
+torch::load(model, "start.pt");
+for (int epoch = 0; epoch < 20; ++epoch) train(model);)"},
      {.name = "new_optimizer",
       .help = "warning; each step or epoch creates a new optimizer, which loses its averages of the gradients",
       .measure = "how often in a row an optimizer of the same size replaces the last one: four times",
       .remedy = "create the optimizer once, before the loop; to change the learning rate, set it in its options",
       .looks = {{When::settings, &judge_new_optimizer}},
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-for (auto& batch : *loader) {
-  torch::optim::Adam optimizer(model->parameters());  // knows nothing yet
-  step(optimizer, batch);
-}
+torch::optim::Adam optimizer(model->parameters());
+for (auto& batch : *loader) step(optimizer, batch);)"},
      {.name = "learning_rate_change",
       .help = "warning; a rate falls to nearly 0 within an epoch, or rises to an implausible value",
       .measure = "a group's rate, compared with the largest and the first so far: below 1e-4 of that, or above 100 "
                  "times and 10",
       .remedy =
           "step a schedule that counts epochs once an epoch, not with each batch; else check where the rate is set",
       .looks = {{When::settings, &judge_rate_change}},
       .brings_about = {{.effects = {"no_effect"}, .strength = Strength::sure},
                        {.effects = {"exploding_gradient", "dead_units", "saturated_activation", "constant_output",
                                     "loss_spike", "loss_oscillating", "diverging_loss", "update_ratio",
                                     "loss_not_decreasing"}}},
       .epochs_unseen = 1,
       .example = R"( torch::optim::StepLR schedule(optimizer, 1, 0.5);
-for (auto& batch : *loader) {
-  step(optimizer, batch);
-  schedule.step();  // halves the rate with each batch
-}
+for (auto& batch : *loader) step(optimizer, batch);
+schedule.step();  // once an epoch)"},
      {.name = "excessive_weight_decay",
       .tag = "Weight Norm",
       .help = "warning; decay outweighs the gradients, and the weights vanish",
       .measure = "a quarter of the weights' first norm is left, and the decay is half as large as the gradient",
       .remedy = "lower the weight decay: 1e-5 to 1e-2 is usual",
       .looks = {{When::window, &judge_decay}},
       .brings_about = {{.effects = {"vanishing_gradient", "dead_units", "constant_output", "update_ratio"},
                         .strength = Strength::sure},
                        {.effects = {"loss_not_decreasing"}}},
       .example = R"(-auto options = torch::optim::SGDOptions(0.1).weight_decay(1.0);
+auto options = torch::optim::SGDOptions(0.1).weight_decay(1e-4);)"},
  };
}

}  // namespace loupe::health
