// Rules about what loss functions are given: sure, without thresholds.

#include <string>

#include "health/rules/rule.h"

namespace loupe::health {

void judge_double_softmax(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (model.loss_fault.kind != LossFault::Kind::distribution) return;
  Observation seen;
  seen.module = model.last_layer != nullptr ? model.last_layer->module : model.root;
  seen.tag = "Loss";
  seen.message =
      "the cross entropy is given probabilities that add up to 1, where it takes scores: it applies "
      "softmax itself, and twice flattens the gradients";
  seen.advice = "leave out the softmax at the end of the model, or take the logarithm and use nll_loss";
  judge.tell(seen);
}

void judge_loss_input(const Judge& judge, const Moment& moment) {
  using Kind = LossFault::Kind;
  const Model& model = *moment.model;
  const LossFault& fault = model.loss_fault;
  Observation seen;
  seen.module = model.last_layer != nullptr ? model.last_layer->module : model.root;
  seen.tag = "Loss";
  seen.message = fault.function + std::string(" is given ") + fault.given;
  switch (fault.kind) {
    case Kind::none:
    case Kind::distribution:
      return;
    case Kind::one_class:
      seen.severity = LOUPE_SEVERITY_ERROR;
      seen.message =
          "cross_entropy is given one score a sample, so that there is one class: the loss is always 0, and "
          "so is every gradient";
      seen.advice = "give the model one output for each class, or use binary_cross_entropy_with_logits for one output";
      break;
    case Kind::broadcast:
      seen.severity = LOUPE_SEVERITY_ERROR;
      seen.message += ", as each output is compared with targets of other samples";
      seen.advice = "bring both to the same shape, as by output.squeeze(1) or target.unsqueeze(1)";
      break;
    case Kind::target_repeated:
      seen.severity = LOUPE_SEVERITY_INFO;
      seen.message += ", as the target is repeated";
      seen.advice = "if that is not meant, bring both to the same shape";
      break;
    case Kind::no_logarithms:
      seen.severity = LOUPE_SEVERITY_ERROR;
      seen.message += "; it takes logarithms of probabilities";
      seen.advice = "use log_softmax over the dimension of the classes before it, or give the scores to cross_entropy";
      break;
    case Kind::bounded:
      if (fault.floor > 0) {
        seen.value = fault.floor;
        seen.message += ": the loss cannot fall below " + number(fault.floor);
      } else {
        seen.message += ": it applies sigmoid itself, and no sample comes near 0 or 1";
      }
      seen.advice = "give it what goes into that function";
      break;
    case Kind::rectified:
      seen.severity = LOUPE_SEVERITY_INFO;
      seen.message += ": a score that is cut off at 0 gets no gradient";
      seen.advice = "give it what goes into the ReLU";
      break;
    case Kind::swapped:
      seen.severity = LOUPE_SEVERITY_INFO;
      seen.message =
          fault.function + std::string(
                               " is given a target that requires a gradient, and an input that does not: the "
                               "arguments seem to be swapped");
      seen.advice = "give the model's output first and the target second";
      break;
  }
  judge.tell(seen);
}

}  // namespace loupe::health
