#include "health/blame.h"

#include <cmath>

#include "health/rules/rule.h"

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
void blame_unseen(const Origin& origin, Observation& seen) {
  seen.message += "it came with one of the " + std::to_string(origin.unseen_steps) +
                  " steps that were not looked at (attach.every, attach.budget) before it was seen: the parameter '" +
                  origin.inputs->bad_parameter + "' of '" + origin.module->name + "' holds it";
  seen.parameter = origin.inputs->bad_parameter;
  seen.advice =
      "look at every step to learn what made it; lower the learning rate, or clip the gradients between backward() and "
      "step()";
}

/// Of a layer that makes it of finite inputs: too large numbers become Inf first, and small ones do not.
std::string advice_for_maker(const Origin& origin) {
  constexpr double large = 1e3;
  const std::string type = origin.module->type;
  const char* const masks = "a softmax over values that are all -Inf, as where everything is masked, is NaN";
  if (role_of(Module(origin.module)) == Role::softmax) return masks;
  const double size = std::isnan(origin.inputs->largest) ? origin.inputs->norm : origin.inputs->largest;
  const bool is_small = origin.inf_count == 0 && size < large;
  const bool attends = Module(origin.module).family() == LOUPE_FAMILY_ATTENTION ||
                       type.find("Attention") != std::string::npos || type.find("Transformer") != std::string::npos;
  if (is_small && attends) return std::string(masks) + ": see that each row of the mask leaves an element";
  if (is_small) {
    return "inputs of that size do not overflow: see what divides by 0 in it, or takes the root or logarithm of 0 or "
           "less, or which of its settings is 0 or not finite";
  }
  return "an overflow is usual here: a " + type +
         " of large inputs or weights, or of float16; normalize what goes in, or lower the learning rate";
}

void blame_output(const Origin& origin, Observation& seen) {
  const std::string layer = std::string("'") + origin.module->name + "'";
  if (!origin.inputs) {
    seen.message += "the output of " + layer + " has " + what(origin);
    seen.advice = "look at what goes into this layer";
  } else if (!origin.inputs->bad_parameter.empty() && origin.unseen_steps > 0) {
    blame_unseen(origin, seen);
  } else if (!origin.inputs->bad_parameter.empty()) {
    seen.parameter = origin.inputs->bad_parameter;
    seen.message += "the parameter '" + seen.parameter + "' of " + layer + " holds it" +
                    (origin.inputs->was_stepped ? ", and did not after the last step" : " already");
    seen.advice = origin.inputs->was_stepped ? "see what else writes to it than the optimizer"
                                             : "see how it was initialized or loaded";
  } else if (!origin.inputs->finite && origin.begins_pass) {
    seen.message += "the batch itself holds it: what goes into " + layer + ", the first layer, is not finite";
    seen.advice = "check the data of this batch for missing values, and the division by its standard deviation";
  } else if (!origin.inputs->finite) {
    seen.message += "it was made between " + (origin.before.empty() ? "the input" : "'" + origin.before + "'") +
                    ", whose output is finite, and " + layer + ", whose input is not";
    seen.advice =
        "look at the operations there: a logarithm or root of 0 or less, a division by 0, an exp of a large "
        "number";
  } else {
    seen.message += layer + " made it: " + what_went_in(origin) + ", and " +
                    (origin.shown_by.empty() ? "its output" : "what '" + origin.shown_by + "' gets from it") + " has " +
                    what(origin);
    seen.advice = advice_for_maker(origin);
  }
}

/// No layer made it: the one whose gradient was seen first only shows it.
void blame_loss(const Origin& origin, Observation& seen) {
  seen.module = nullptr;
  seen.tag = "Loss";
  seen.message += "the loss made it: the outputs of all layers are finite, while the loss and the gradient of '" +
                  origin.parameter + "' of '" + origin.module->name + "' are not";
  seen.advice =
      "see what stands between the model's output and the loss: a logarithm of 0, a division by 0 or an overflow";
}

}  // namespace

Observation blame(const Origin& origin, bool loss, const std::string& opening) {
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = origin.module;
  seen.value = static_cast<double>(origin.nan_count + origin.inf_count);
  seen.threshold = 0;
  seen.tag = "Non-Finite Values";
  seen.message = opening + ": ";
  const std::string layer = std::string("'") + origin.module->name + "'";
  switch (origin.place) {
    case Origin::Place::output:
      blame_output(origin, seen);
      break;
    case Origin::Place::gradient:
      if (loss) {
        blame_loss(origin, seen);
        break;
      }
      seen.parameter = origin.parameter;
      seen.message += "the gradient of '" + origin.parameter + "' of " + layer + " has " + what(origin) +
                      ", while the outputs of all layers are finite";
      seen.advice =
          "something between this layer and the loss has no finite slope here: a root, norm or logarithm at 0, or a "
          "masked softmax; add a small number to it";
      break;
    case Origin::Place::changed_gradient:
      seen.parameter = origin.parameter;
      seen.message += "the gradient of '" + origin.parameter + "' of " + layer + " has " + what(origin) +
                      " as the optimizer used it, and was finite as the backward pass gave it";
      seen.advice =
          "see what changes gradients between backward() and step(): an average over ranks brings the NaN of any one "
          "of them ('rank_non_finite' names it), and clipping by a norm of 0 or Inf makes one";
      break;
    case Origin::Place::parameter:
      seen.parameter = origin.parameter;
      seen.message += "the step made it: '" + origin.parameter + "' of " + layer + " has " + what(origin) +
                      " after it, while its gradient and all outputs were finite";
      seen.advice = advice_for_step;
      break;
  }
  return seen;
}

}  // namespace loupe::health
