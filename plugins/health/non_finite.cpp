// What health says of the first NaN or Inf.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "health/blame.h"
#include "health/health.h"

namespace loupe::health {

void Health::take_loss() {
  const std::lock_guard lock(losses_.mutex);
  // A finite loss that came after it shows that its step was left out, as where a scaled loss overflows.
  if (losses_.take_non_finite()) loss_is_bad_ = loss_turned_bad_ = true;
}

/// The first NaN or Inf is told once it is known to have done harm: to parameters or to the loss. One that a skipped
/// step or a mask has kept away from them is none.
void Health::follow_trail(const Judge& judge, Model& model) {
  if (any_broken() || !watched_.trail.is_taken()) return;
  const std::optional<Origin> origin = watched_.trail.first();
  if (!origin) return;
  const bool stepped = model.sums.counts.stepped > 0;
  const bool harmed = std::any_of(model.parameters.begin(), model.parameters.end(),
                                  [](const ParameterState& each) { return each.stepped && !each.is_finite; });
  if (harmed || loss_is_bad_) {
    non_finite_ =
        blame(*origin, loss_is_bad_, non_finite_ ? "a NaN or Inf came again" : "the first NaN or Inf of this run");
    add_growth(*non_finite_, &model);
    judge.by(rule_named(non_finite)).tell(*non_finite_);
    model.is_broken = true;
    model.finite_steps = 0;
  } else if (stepped && model.name == Module(origin->module).model()) {
    // An Inf alone may be meant, as in masks and where a scaled loss overflows.
    if (origin->place == Origin::Place::output && origin->nan_count > 0) {
      Observation seen = blame(*origin, /*loss=*/false,
                               "a NaN that did no harm, as parameters and the losses that were pushed stayed finite");
      seen.severity = LOUPE_SEVERITY_INFO;
      judge.by(rule_named(non_finite)).tell(seen);
    }
    watched_.trail.forget();
  }
}

/// What overflows at last has grown before, which is where to look.
void Health::add_growth(Observation& seen, const Model* model) {
  constexpr double far = 100;
  const std::lock_guard lock(losses_.mutex);
  const Losses::Training& loss = *losses_.non_finite;
  std::vector<double> losses(loss.recent.begin(), loss.recent.end());
  losses.insert(losses.end(), loss.pending.begin(), loss.pending.end());
  if (losses.size() < 2 || !(losses.front() > 0) || !(losses.back() > far * losses.front())) return;
  seen.message += "; before it " + losses_.shown(loss) + " had grown from " + number(losses.front()) + " to " +
                  number(losses.back()) + " in " + std::to_string(losses.size()) + " steps";
  seen.advice = "lower the learning rate, or clip the gradients between backward() and step()";
  if (model == nullptr || model->input_count == 0) return;
  const double scale = std::sqrt(model->input_sum_squares / static_cast<double>(model->input_count));
  if (scale > limits_["input_scale"])
    seen.advice = "normalize the model's input, whose root mean square is " + number(scale) + ", or " + seen.advice;
}

/// Once steps are made in which all is finite, the rules go on, with what they see from now on.
void Health::follow_recovery(Model& model) {
  constexpr uint32_t enough = 2;
  const bool is_finite = !met_non_finite_ && std::all_of(model.parameters.begin(), model.parameters.end(),
                                                         [](const ParameterState& each) { return each.is_finite; });
  model.finite_steps = is_finite ? model.finite_steps + 1 : 0;
  if (model.finite_steps < enough) return;
  model.is_broken = false;
  model.next_window();
  watched_.trail.forget();
  loss_is_bad_ = false;
}

/// A loss that is not finite beside a model that is. What comes later is not to blame for it.
void Health::tell_lone_loss(const Judge& judge) {
  if (watched_.trail.is_taken() || !std::exchange(loss_is_bad_, false) || loss_was_unseen_ || any_broken()) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.tag = "Loss";
  seen.message =
      losses_.shown(*losses_.non_finite) + " is NaN or Inf, while all outputs and gradients that were seen are finite";
  seen.advice =
      "see what the loss divides by and takes the logarithm of; a mean over no samples, as of an empty batch, is NaN";
  add_growth(seen, nullptr);
  judge.by(rule_named(non_finite)).tell(seen);
}

/// Reports a loss that was NaN or Inf in a step that was not looked at, if the steps after it are finite again.
void Health::tell_unseen_loss(const Judge& judge) {
  constexpr uint64_t enough = 2;
  if (!loss_was_unseen_ || any_broken() || ++steps_since_loss_ <= enough) return;
  Observation seen;
  seen.tag = "Loss";
  seen.message = losses_.shown(*losses_.non_finite) +
                 " was NaN or Inf in a step that was not looked at (attach.every, attach.budget); the model's "
                 "outputs, gradients and parameters are finite again in the steps after it";
  seen.advice = "look at every step to learn what made it, and see the batch of that step";
  judge.by(rule_named(non_finite)).tell(seen);
  loss_was_unseen_ = loss_is_bad_ = false;
}

}  // namespace loupe::health
