#include "health/blame.h"

#include <cmath>

#include "health/judge.h"

namespace loupe::health {
namespace {

constexpr const char* advice_for_step = "lower the learning rate; see that nothing else writes to the parameter";

std::string what(const Origin& origin) {
  std::string text;
  if (origin.nan_count > 0) text = std::to_string(origin.nan_count) + " NaN";
  if (origin.inf_count > 0) text += (text.empty() ? "" : " and ") + std::to_string(origin.inf_count) + " Inf";
  return text + " of " + std::to_string(origin.numel) + " elements";
}

/// What went into the layer that made it. Where that layer was not looked at, its input was the output before it.
std::string what_went_in(const Origin& origin) {
  if (std::isnan(origin.inputs->largest))
    return "the output of '" + origin.before + "' is finite (its L2 norm is " + number(origin.inputs->norm) + ")";
  return "what goes in is finite (its largest magnitude is " + number(origin.inputs->largest) + ")";
}

/// It was there when the host began to look again.
void blame_unseen(const Origin& origin, Sight& sight) {
  sight.message += "it came with one of the " + std::to_string(origin.unseen_steps) +
                   " steps that were not looked at (attach.every, attach.budget) before it was seen: the parameter '" +
                   origin.inputs->bad_parameter + "' of '" + origin.module->name + "' holds it";
  sight.parameter = origin.inputs->bad_parameter;
  sight.advice = "look at every step to learn what made it; lower the learning rate, or clip the gradients";
}

void blame_output(const Origin& origin, Sight& sight) {
  const std::string layer = std::string("'") + origin.module->name + "'";
  const std::string type = origin.module->type;
  if (!origin.inputs) {
    sight.message += "the output of " + layer + " has " + what(origin);
    sight.advice = "look at what goes into this layer";
  } else if (!origin.inputs->bad_parameter.empty() && origin.unseen_steps > 0) {
    blame_unseen(origin, sight);
  } else if (!origin.inputs->bad_parameter.empty()) {
    sight.parameter = origin.inputs->bad_parameter;
    sight.message += "the parameter '" + sight.parameter + "' of " + layer + " holds it" +
                     (origin.inputs->was_stepped ? ", and did not after the last step" : " already");
    sight.advice = origin.inputs->was_stepped ? "see what else writes to it than the optimizer"
                                              : "see how it was initialized or loaded";
  } else if (!origin.inputs->finite && origin.begins_pass) {
    sight.message += "the batch itself holds it: what goes into " + layer + ", the first layer, is not finite";
    sight.advice = "check the data of this batch for missing values, and the division by its standard deviation";
  } else if (!origin.inputs->finite) {
    sight.message += "it was made between " + (origin.before.empty() ? "the input" : "'" + origin.before + "'") +
                     ", whose output is finite, and " + layer + ", whose input is not";
    sight.advice =
        "look at the operations there: a logarithm or root of 0 or less, a division by 0, an exp of a large "
        "number";
  } else {
    sight.message += layer + " made it: " + what_went_in(origin) + ", and " +
                     (origin.shown_by.empty() ? "its output" : "what '" + origin.shown_by + "' gets from it") +
                     " has " + what(origin);
    sight.advice =
        role_of(Module(origin.module)) == Role::softmax
            ? "a softmax over values that are all -Inf, as where everything is masked, is NaN"
            : "an overflow is usual here: a " + type +
                  " of large inputs or weights, or of float16; normalize what goes in, or lower the learning "
                  "rate";
  }
}

}  // namespace

Sight blame(const Origin& origin, bool loss, const std::string& opening) {
  Sight sight;
  sight.rule = "non_finite";
  sight.severity = LOUPE_SEVERITY_ERROR;
  sight.module = origin.module;
  sight.value = static_cast<double>(origin.nan_count + origin.inf_count);
  sight.threshold = 0;
  sight.tag = "Non-Finite Values";
  sight.message = opening + ": ";
  const std::string layer = std::string("'") + origin.module->name + "'";
  switch (origin.place) {
    case Origin::Place::output:
      blame_output(origin, sight);
      break;
    case Origin::Place::gradient:
      sight.parameter = origin.parameter;
      sight.message += "the gradient of '" + origin.parameter + "' of " + layer + " has " + what(origin) +
                       ", while the outputs of all layers are finite" + (loss ? "; the loss is not" : "");
      sight.advice = loss ? "the loss makes it: a logarithm of 0, a division by 0 or an overflow between the model's "
                            "output and the loss"
                          : "something between this layer and the loss has no finite slope here: a root, norm or "
                            "logarithm at 0, or a masked softmax; add a small number to it";
      break;
    case Origin::Place::parameter:
      sight.parameter = origin.parameter;
      sight.message += "the step made it: '" + origin.parameter + "' of " + layer + " has " + what(origin) +
                       " after it, while its gradient and all outputs were finite";
      sight.advice = advice_for_step;
      break;
  }
  return sight;
}

}  // namespace loupe::health
