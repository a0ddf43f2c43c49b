// Rules about how a program changes gradients: clips that remove nearly all of them, or have no effect.

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {

UsedGradient used_gradient(const Judge& judge, const ParameterState& state) {
  UsedGradient used;
  read(judge.host, state, true, [&](const Elements& gradient) {
    used.is_known = true;
    gradient.read_by([&](const auto& at) {
      for (int64_t place = 0; place < gradient.count(); ++place) {
        const double value = std::abs(at(place));
        used.squares += value * value;
        used.largest = std::max(used.largest, value);
      }
    });
  });
  return used;
}

namespace {

/// Whether the gradient after backward and the one at the step both belong to this step.
bool is_of_this_step(const ParameterState& state) {
  return state.stepped && state.gradients > 0 && state.gradient_norm > 0 && std::isfinite(state.gradient_norm);
}

/// A clip makes all gradients smaller, so one of the smallest shows whether the others are worth reading.
const ParameterState* smallest_weight(const Model& model) {
  const ParameterState* smallest = nullptr;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || !is_of_this_step(each)) continue;
    if (smallest == nullptr || each.parameter->numel < smallest->parameter->numel) smallest = &each;
  }
  return smallest;
}

/// Compares the gradients at a fully measured step with those after backward.
void look_at_clip(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (situation.optimizer == nullptr || !model.resting.is_looking() || model.is_on_device || model.searches_steps)
    return;
  const ParameterState* probe = smallest_weight(model);
  if (probe == nullptr) return;
  ClippedSteps& clipped = model.window.clipped;
  ++clipped.looks;
  constexpr double much = 0.1;
  const UsedGradient used = used_gradient(judge, *probe);
  if (!used.is_known || !(used.squares > 0) || !(std::sqrt(used.squares) < much * probe->gradient_norm)) return;
  double before = 0, after = 0, largest = 0;
  int64_t elements = 0;
  for (const ParameterState& each : model.parameters) {
    if (!is_of_this_step(each)) continue;
    const UsedGradient its = used_gradient(judge, each);
    if (!its.is_known) return;
    before += each.gradient_norm * each.gradient_norm;
    after += its.squares;
    largest = std::max(largest, its.largest);
    elements += each.parameter->numel;
  }
  clipped.take(std::sqrt(before), std::sqrt(after), largest);
  clipped.elements = elements;
  // Adam and similar optimizers divide a gradient by its size: only gradients far below their eps make smaller steps.
  constexpr double far_below = 0.1;
  const double usual = std::sqrt(after / static_cast<double>(elements));
  const auto counts_size = [&](const loupe_parameter_group* group) {
    const auto eps = setting_of(*group, "eps");
    return eps && usual < far_below * *eps;
  };
  const loupe_optimizer& optimizer = *situation.optimizer;
  const bool is_sgd = std::string_view(optimizer.type) == "SGD";
  const auto* const* groups = optimizer.groups;
  clipped.shrinks_steps = is_sgd || std::all_of(groups, groups + optimizer.group_count, counts_size);
  clipped.rate = is_sgd && optimizer.group_count == 1 ? learning_rate_of(*groups[0]).value_or(NAN) : NAN;
}

/// A clip is known by its result: the same norm, or the same largest element, in all steps. If all gradients are
/// divided by one number, as for a scaled loss, or by the number of samples, the result varies.
void judge_clip(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const ClippedSteps& clipped = model.window.clipped;
  if (clipped.count < fewest_looks_in_window || clipped.count < clipped.looks || !clipped.shrinks_steps) return;
  // Larger gradients may come from a scaled loss, divided by the scale before the clip.
  constexpr double without_scale = 100;
  if (clipped.before.high > without_scale) return;
  constexpr double same = 2e-3, other = 1e-2;
  const bool is_clip = clipped.after.spread() < same || clipped.largest.spread() < same;
  const double share = clipped.share(), limit = judge.limit("clip_share");
  if (!is_clip || clipped.before.spread() < other || !(share < limit)) return;
  // A program that divides gradients by their norm, with a rate chosen for that, still learns.
  const uint32_t severity = situation.is_stuck ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO;
  const bool is_norm = clipped.after.spread() < same;
  const double left = is_norm ? clipped.after.high : clipped.largest.high;
  const std::string rate = std::isnan(clipped.rate) ? ""
                                                    : sentence(": the effective learning rate is ",
                                                               clipped.rate * share, " instead of ", clipped.rate);
  judge.see(
      {.severity = severity, .module = model.root, .value = share, .threshold = limit, .may_recede = true},
      sentence("the gradients are clipped between backward() and step() in each of the ", clipped.count,
               " measured steps, to ", is_norm ? "a norm of " : "elements of at most ", left,
               " although their norm is ", clipped.before.low, " to ", clipped.before.high, ", which leaves ", share,
               " of it on average", rate),
      sentence("raise the limit of ", is_norm ? "clip_grad_norm_" : "clip_grad_value_",
               " to the usual size of the gradients of ", whose(model), ", ",
               is_norm ? sentence("a norm of about ", clipped.before.high)
                       : sentence("about ", clipped.before.high / std::sqrt(static_cast<double>(clipped.elements)),
                                  " an element"),
               " or more: clipping is for the few steps with far larger gradients"));
}

/// Counts consecutive measured steps.
void judge_early_clip(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (!model.resting.is_looking() || model.is_on_device) return;
  const ParameterState* first = nullptr;
  double squares = 0;
  for (const ParameterState& each : model.parameters) {
    if (!is_of_this_step(each)) continue;
    squares += each.gradient_norm * each.gradient_norm;
    if (first == nullptr && each.clipped_early) first = &each;
  }
  if (squares == 0) return;  // gradients of 0 do not show a clip
  model.early_clips = first != nullptr ? model.early_clips + 1 : 0;
  constexpr uint32_t enough = 3;
  if (model.early_clips < enough) return;
  judge.tell(
      {.module = model.root, .value = static_cast<double>(model.early_clips)},
      sentence("the gradients of ", whose(model), ", such as that of ", shown(*first),
               ", are clipped or scaled before backward(), when they are all 0, and not after it, in each of "
               "the last ",
               model.early_clips, " measured steps: that has no effect, and the step uses gradients with a norm of ",
               std::sqrt(squares)));
}

}  // namespace

std::vector<Rule> clipping_rules() {
  return {
      {.name = "early_clip",
       .help = "warning; gradients are clipped before backward() makes them",
       .measure = "changes of gradients that are 0, before the backward pass of three steps in a row",
       .remedy = "call clip_grad_norm_ or clip_grad_value_ after loss.backward() and before optimizer.step()",
       .looks = {{When::step, &judge_early_clip}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"non_finite", "exploding_gradient", "loss_spike", "diverging_loss", "update_ratio",
                                     "loss_oscillating", "loss_not_decreasing"},
                         .strength = Strength::hint}},
       .example = R"( optimizer.zero_grad();
 auto loss = loss_of(model->forward(inputs), targets);
-torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);  // all 0
 loss.backward();
+torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
 optimizer.step();)"},
      {.name = "tiny_clip",
       .tag = "Weight Gradient Norm",
       .help = "warning or info; a clip leaves next to nothing of the gradients, in all steps",
       .remedy = "raise the clip's limit to the usual size of gradients: clipping is for the few that are far larger",
       .looks = {{When::step, &look_at_clip}, {When::window, &judge_clip}},
       .limits = {{"clip_share", 0.01,
                   "share of the gradients' norm that a clip leaves, below which it leaves too little", 0.0, 1.0}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .example = R"( loss.backward();
-// Gradients have a norm of about 1.
-torch::nn::utils::clip_grad_norm_(model->parameters(), 0.002);
+torch::nn::utils::clip_grad_norm_(model->parameters(), 2.0);
 optimizer.step();)"},
  };
}

}  // namespace loupe::health
