#include "health/non_finite.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "health/health.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

std::string what(const Origin& origin) {
  std::string text;
  if (origin.nan_count > 0) text = std::to_string(origin.nan_count) + " NaN";
  if (origin.inf_count > 0) text += (text.empty() ? "" : " and ") + std::to_string(origin.inf_count) + " Inf";
  return text + " of " + std::to_string(origin.numel) + " elements" + origin.where;
}

/// How sentences name the NaN or Inf. An opening such as "the first NaN or Inf of this run" is their object; one that
/// is a sentence comes before theirs.
struct Naming {
  explicit Naming(const std::string& opening) {
    if (opening.rfind("the ", 0) == 0) {
      it = opening;
      has = "has " + opening + ": ";
    } else {
      before = opening + ": ";
    }
  }
  std::string before, it = "it", has = "has ";
};

/// Adds the function of autograd's graph that made it, and what to do about that.
void add_makers(const std::vector<draft::Maker>& makers, Observation& seen) {
  for (const draft::Maker& each : makers) {
    seen.message += sentence("; ", each.function, " ", each.seen);
    if (!each.advice.empty()) seen.advice = each.advice;
  }
}

/// Describes the input of the layer that made it, or the output before it if that layer was not measured.
std::string what_went_in(const Origin& origin) {
  if (std::isnan(origin.inputs->largest))
    return "the output of '" + origin.before + "' is finite (its L2 norm is " + number(origin.inputs->norm) + ")";
  return "its input is finite (its largest magnitude is " + number(origin.inputs->largest) + ")";
}

/// Explains that it came in an unmeasured step.
void blame_unseen(const Origin& origin, const Naming& naming, Observation& seen) {
  seen.message += sentence("the parameter '", origin.inputs->bad_parameter, "' of '", origin.module->name,
                           "' contains ", naming.it, origin.inputs->where, ": it appeared in one of the ",
                           origin.unseen_steps, " steps before that were not measured (attach.every, attach.budget)");
  seen.parameter = origin.inputs->bad_parameter;
  seen.advice =
      "measure every step to find what made it; lower the learning rate, or clip the gradients between backward() and "
      "step()";
}

/// Advice for a layer that makes it from finite inputs: only large inputs overflow, first to Inf.
std::string advice_for_maker(const Origin& origin) {
  constexpr double large = 1e3;
  const std::string type = origin.module->type;
  const char* const masks = "a softmax over values that are all -Inf, as when everything is masked, is NaN";
  if (role_of(Module(origin.module)) == Role::softmax) return masks;
  const double size = std::isnan(origin.inputs->largest) ? origin.inputs->norm : origin.inputs->largest;
  const bool is_small = origin.inf_count == 0 && size < large;
  const bool attends = Module(origin.module).family() == LOUPE_FAMILY_ATTENTION ||
                       type.find("Attention") != std::string::npos || type.find("Transformer") != std::string::npos;
  if (is_small && attends) return std::string(masks) + ": check that each row of the mask leaves an element";
  if (is_small) {
    return "inputs of that size do not overflow: check it for a division by 0, a root or logarithm of 0 or less, or a "
           "setting that is 0 or not finite";
  }
  return "an overflow is the usual cause: a " + type +
         " with large inputs or weights, or in float16; normalize its input, or lower the learning rate";
}

void blame_output(const Origin& origin, const Naming& naming, Observation& seen) {
  const std::string layer = std::string("'") + origin.module->name + "'";
  if (!origin.inputs) {
    seen.message += sentence("the output of ", layer, " ", naming.has, what(origin));
    seen.advice = "check the input of this layer";
  } else if (!origin.inputs->bad_parameter.empty() && origin.unseen_steps > 0) {
    blame_unseen(origin, naming, seen);
  } else if (!origin.inputs->bad_parameter.empty()) {
    seen.parameter = origin.inputs->bad_parameter;
    seen.message +=
        sentence("the parameter '", seen.parameter, "' of ", layer, " contains ", naming.it, origin.inputs->where,
                 (origin.inputs->was_stepped ? ", but did not after the last step" : ", since before its first step"));
    seen.advice = origin.inputs->was_stepped ? "find the code other than the optimizer that writes to it"
                                             : "check how it was initialized or loaded";
  } else if (!origin.inputs->finite && origin.begins_pass) {
    seen.message += sentence("the batch itself contains ", naming.it, ": the input of ", layer,
                             ", the first layer, is not finite", origin.inputs->where);
    seen.advice = "check the data of this batch for missing values, and the division by its standard deviation";
  } else if (!origin.inputs->finite) {
    const std::string before = origin.before.empty() ? "" : "'" + origin.before + "'";
    seen.message += before.empty() ? sentence("an operation before ", layer, " made ", naming.it, ": the input of ",
                                              layer, " is not finite", origin.inputs->where)
                                   : sentence("an operation between ", before, " and ", layer, " made ", naming.it,
                                              ": the output of ", before, " is finite, and the input of ", layer,
                                              " is not", origin.inputs->where);
    seen.advice =
        "check the operations there: a logarithm or root of 0 or less, a division by 0, an exp of a large number";
    add_makers(origin.inputs->maker, seen);
  } else if (origin.inputs->masked_rows > 0) {
    const Origin::Inputs& in = *origin.inputs;
    seen.message += sentence(layer, " made ", naming.it, ": among ", in.rows, " rows of its softmax, ", in.masked_rows,
                             (in.masked_rows == 1 ? " is" : " are"), " fully masked, all ", in.keys,
                             " elements, and its output has ", what(origin));
    seen.advice = "check that each row of the mask leaves an element: a softmax over values that are all -Inf is NaN";
  } else {
    seen.message +=
        sentence(layer, " made ", naming.it, ": ", what_went_in(origin), ", and ",
                 (origin.shown_by.empty() ? "its output" : "the input that '" + origin.shown_by + "' gets from it"),
                 " has ", what(origin));
    seen.advice = advice_for_maker(origin);
    add_makers(origin.inputs->maker, seen);
  }
}

/// Blames the loss for a NaN or Inf that no layer made: the first gradient only shows it.
void blame_loss(const Origin& origin, const std::vector<draft::Maker>& makers, const Naming& naming,
                Observation& seen) {
  seen.module = nullptr;
  seen.tag = "Loss";
  seen.message += sentence("the loss made ", naming.it,
                           ": the outputs of all layers are finite, while the loss and the gradient of '",
                           origin.parameter, "' of '", origin.module->name, "' are not");
  seen.advice =
      "check the operations between the model's output and the loss: a logarithm of 0, a division by 0 or an overflow";
  add_makers(makers, seen);
}

}  // namespace

Observation blame(const Origin& origin, bool loss, const std::vector<draft::Maker>& makers,
                  const std::string& opening) {
  const Naming naming(opening);
  Observation seen{.module = origin.module,
                   .message = naming.before,
                   .value = static_cast<double>(origin.nan_count + origin.inf_count),
                   .threshold = 0,
                   .tag = "Non-Finite Values"};
  const std::string layer = std::string("'") + origin.module->name + "'";
  switch (origin.place) {
    case Origin::Place::output:
      blame_output(origin, naming, seen);
      break;
    case Origin::Place::gradient:
      if (loss) {
        blame_loss(origin, makers, naming, seen);
        break;
      }
      seen.parameter = origin.parameter;
      seen.message += sentence("the gradient of '", origin.parameter, "' of ", layer, " ", naming.has, what(origin),
                               ", while the outputs of all layers are finite");
      seen.advice =
          "an operation between this layer and the loss has no finite slope here: a root, norm or logarithm at 0, or a "
          "masked softmax; add a small number to it";
      if (!origin.steep.empty()) {
        seen.message += "; between it and the loss is ";
        for (std::size_t i = 0; i < origin.steep.size(); ++i)
          seen.message += (i > 0 ? ", and " : "") + origin.steep[i].function + ", " + origin.steep[i].seen;
        seen.advice = "add a small number to its input, before the root or logarithm, or clamp it";
      }
      break;
    case Origin::Place::changed_gradient:
      seen.parameter = origin.parameter;
      seen.message += sentence("the gradient of '", origin.parameter, "' of ", layer, " ", naming.has, what(origin),
                               " when the optimizer used it, but was finite after the backward pass");
      seen.advice =
          "check what changes gradients between backward() and step(): an average over ranks spreads the NaN of any "
          "one of them ('rank_non_finite' names it), and clipping by a norm of 0 or Inf makes one";
      break;
    case Origin::Place::parameter:
      seen.parameter = origin.parameter;
      seen.message += sentence("the step made ", naming.it, ": '", origin.parameter, "' of ", layer, " has ",
                               what(origin), " after it, while its gradient and all outputs were finite");
      seen.advice = "lower the learning rate; check that nothing else writes to the parameter";
      break;
  }
  return seen;
}

void Health::take_loss() {
  const std::lock_guard lock(losses_.mutex);
  // A finite loss after it shows that its step was skipped, as when a scaled loss overflows.
  if (losses_.take_non_finite()) loss_is_bad_ = loss_turned_bad_ = true;
}

/// Reports the first NaN or Inf once it has reached parameters or the loss, but not one that a skipped step or a mask
/// kept away from them.
void Health::judge_non_finite(const Judge& judge, Model& model) {
  if (any_broken() || !watched_.first_non_finite.is_taken()) return;
  const std::optional<Origin> origin = watched_.first_non_finite.first();
  if (!origin) return;
  const bool stepped = model.step.sums.counts.stepped > 0;
  const bool harmed =
      std::ranges::any_of(model.parameters, [](const ParameterState& each) { return each.stepped && !each.is_finite; });
  if (harmed || loss_is_bad_) {
    non_finite_ = blame(*origin, loss_is_bad_, makers_of_loss(),
                        non_finite_ ? "a NaN or Inf appeared again" : "the first NaN or Inf of this run");
    add_growth(*non_finite_, &model);
    judge.by(rule_named(non_finite)).tell(*non_finite_);
    model.is_broken = true;
    model.finite_steps = 0;
  } else if (stepped && model.name == Module(origin->module).model()) {
    // An Inf may be intended, as in masks and when a scaled loss overflows.
    if (origin->place == Origin::Place::output && origin->nan_count > 0) {
      Observation seen =
          blame(*origin, /*loss=*/false, {}, "a harmless NaN: parameters and pushed losses stayed finite");
      seen.severity = LOUPE_SEVERITY_INFO;
      judge.by(rule_named(non_finite)).tell(seen);
    }
    watched_.first_non_finite.forget();
  }
}

std::vector<draft::Maker> Health::makers_of_loss() {
  const std::lock_guard lock(losses_.mutex);
  return losses_.non_finite->makers;
}

/// Adds that the loss had grown before it overflowed, which points to the cause.
void Health::add_growth(Observation& seen, const Model* model) {
  constexpr double far = 100;
  const std::lock_guard lock(losses_.mutex);
  const Losses::Training& loss = *losses_.non_finite;
  std::vector<double> losses(loss.recent.begin(), loss.recent.end());
  losses.insert(losses.end(), loss.pending.begin(), loss.pending.end());
  if (losses.size() < 2 || !(losses.front() > 0) || !(losses.back() > far * losses.front())) return;
  seen.message += sentence("; before that ", losses_.shown(loss), " had grown from ", losses.front(), " to ",
                           losses.back(), " in ", losses.size(), " steps");
  seen.advice = "lower the learning rate, or clip the gradients between backward() and step()";
  const double scale = model != nullptr ? model->passing.range.scale() : NAN;
  if (scale > limits_["input_scale"])
    seen.advice = sentence("normalize the model's input, whose root mean square is ", scale, ", or ", seen.advice);
}

/// After a few steps with only finite numbers, the rules start again.
void Health::follow_recovery(Model& model) {
  constexpr uint32_t enough = 2;
  const bool is_finite = !met_non_finite_ && std::ranges::all_of(model.parameters, [](const ParameterState& each) {
    return each.is_finite;
  });
  model.finite_steps = is_finite ? model.finite_steps + 1 : 0;
  if (model.finite_steps < enough) return;
  model.is_broken = false;
  model.next_window();
  watched_.first_non_finite.forget();
  loss_is_bad_ = false;
}

/// Reports a loss that is not finite while the model is. Later events did not cause it.
void Health::tell_lone_loss(const Judge& judge) {
  if (watched_.first_non_finite.is_taken() || !std::exchange(loss_is_bad_, false) || loss_was_unseen_ || any_broken())
    return;
  Observation seen{
      .message = sentence(losses_.shown(*losses_.non_finite),
                          " is NaN or Inf, while all measured outputs and gradients are finite"),
      .advice =
          "check the divisions and logarithms in the loss; a mean over no samples, such as an empty batch, is NaN",
      .tag = "Loss"};
  add_makers(makers_of_loss(), seen);
  add_growth(seen, nullptr);
  judge.by(rule_named(non_finite)).tell(seen);
}

/// Reports a loss that was NaN or Inf in an unmeasured step, if the steps after it are finite again.
void Health::tell_unseen_loss(const Judge& judge) {
  constexpr uint64_t enough = 2;
  if (!loss_was_unseen_ || any_broken() || ++steps_since_loss_ <= enough) return;
  judge.by(rule_named(non_finite))
      .tell({.severity = LOUPE_SEVERITY_WARNING, .tag = "Loss"},
            sentence(losses_.shown(*losses_.non_finite),
                     " was NaN or Inf in a step that was not measured (attach.every, attach.budget); the model's "
                     "outputs, gradients and parameters are finite again in the steps after it"),
            "measure every step to find what made it, and check the batch of that step");
  loss_was_unseen_ = loss_is_bad_ = false;
}

}  // namespace loupe::health
