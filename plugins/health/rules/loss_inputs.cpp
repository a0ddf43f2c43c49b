// Rules about the arguments of loss functions: scores and targets.

#include "health/rules/loss_inputs.h"

#include <loupe/draft/tensor_math.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>

#include "health/rules/rule.h"

namespace loupe::health {

void Guessing::take_cross_entropy(double loss, int64_t classes) {
  if (!is_cross_entropy()) looks_ = 0;
  cross_entropy_ += loss;
  uniform_ += std::log(static_cast<double>(classes));
  classes_ = classes;
  ++looks_;
}

Guessing::Compared Guessing::compared() const {
  if (is_cross_entropy()) return {cross_entropy_ / looks_, uniform_ / looks_};
  constexpr double rounding = 1e-6;
  const double count = static_cast<double>(pairs_), mean = target_sum_ / count;
  const double variance = target_squares_ / count - mean * mean;
  return {squares_ / count, variance > rounding * mean * mean ? variance : 0};
}

bool Guessing::is_far_better() const {
  constexpr double far = 0.7;
  return looks_ > 0 && compared().loss < far * compared().guess;
}

void Guessing::end_epoch() {
  constexpr uint32_t looks_enough = 8;
  if (looks_ < looks_enough) return;
  const Compared now = compared();
  epochs_ = now.is_no_better() ? epochs_ + 1 : 0;
  text_ = is_cross_entropy() ? "guessing among " + std::to_string(classes_) + " classes gives " + number(now.guess)
                             : "the mean of the targets as a constant answer gives " + number(now.guess);
  cross_entropy_ = uniform_ = squares_ = target_sum_ = target_squares_ = 0;
  pairs_ = 0;
  looks_ = 0;
}

void TargetTally::take_class(int64_t target, int64_t answer, int64_t classes) {
  has_several_functions_ = has_several_functions_ || (classes_ != 0 && classes != classes_);
  classes_ = classes;
  if (target != common_ && --balance_ < 0) {
    common_ = target;
    balance_ = seen_ = common_seen_ = common_answers_ = 0;
  }
  if (target == common_) {
    ++balance_;
    ++common_seen_;
  }
  ++seen_;
  common_answers_ += answer == common_ ? 1 : 0;
}

void TargetTally::take_look(const char* function) {
  has_several_functions_ = has_several_functions_ || (*function_ != '\0' && std::strcmp(function_, function) != 0);
  function_ = function;
  ++looks_;
}

void TargetTally::end_epoch() {
  // Where the first epoch showed nearly nothing of the targets in the outputs, a few of the next confirm it.
  const uint32_t looks_enough = is_hardly_begun_ ? 2 : 8;
  const int64_t targets_enough = is_hardly_begun_ ? 64 : 256;
  if (looks_ < looks_enough) return;
  // The targets of several heads cannot be judged together.
  const bool is_judged = !has_several_functions_;
  if (seen_ >= targets_enough) {
    constexpr double most = 0.75, most_of_few = 0.9;
    constexpr int64_t few_classes = 3;
    share_ = static_cast<double>(common_seen_) / static_cast<double>(seen_);
    is_unbalanced_ =
        is_judged && classes_ > 1 && common_seen_ < seen_ && share_ >= (classes_ <= few_classes ? most_of_few : most);
    epochs_of_one_answer_ = is_unbalanced_ && common_answers_ == seen_ ? epochs_of_one_answer_ + 1 : 0;
    seen_ = common_seen_ = common_answers_ = 0;
    looks_ = 0;
  }
  if (pairs_ >= targets_enough) {
    constexpr double large = 100, far = 0.05, hardly_begun = 1e-3;
    target_size_ = std::sqrt(target_squares_ / static_cast<double>(pairs_));
    output_size_ = std::sqrt(output_squares_ / static_cast<double>(pairs_));
    const bool are_far_larger = is_judged && target_size_ > large && output_size_ < far * target_size_;
    epochs_far_larger_ = are_far_larger ? epochs_far_larger_ + 1 : 0;
    is_hardly_begun_ = are_far_larger && output_size_ < hardly_begun * target_size_;
    output_squares_ = target_squares_ = 0;
    pairs_ = 0;
    looks_ = 0;
  }
}

namespace {

void judge_balance(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const TargetTally& targets = model.target_tally;
  if (!targets.is_unbalanced()) return;
  const bool is_all_it_answers = targets.answers_one_class();
  judge.tell({.severity = is_all_it_answers ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO,
              .module = model.output_module(),
              .value = targets.share()},
             sentence(percent(targets.share()), " of the targets of ", targets.function(), " are class ",
                      targets.common_class(), ", one of ", targets.classes(),
                      (is_all_it_answers ? ", and the model answers nothing else"
                                         : ": a model that always answers it is right as often")));
}

void judge_target_scale(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const TargetTally& targets = model.target_tally;
  if (!targets.are_far_larger()) return;
  judge.tell(
      {.module = model.output_module(), .value = targets.target_size(), .threshold = targets.output_size()},
      sentence("the targets of ", targets.function(), " are far larger than the model's outputs: root mean squares of ",
               targets.target_size(), " and ", targets.output_size(), " by epoch ", situation.epoch));
}

void judge_double_softmax(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  if (model.step.loss_fault.kind != LossFault::Kind::distribution) return;
  judge.tell({.module = model.output_module()},
             "the cross entropy is given probabilities that add up to 1, but takes scores: it applies softmax "
             "itself, and a second softmax flattens the gradients");
}

/// The text for each fault after "mse_loss is given …". Without an advice: pass the scores before the function that
/// made the argument.
struct FaultText {
  LossFault::Kind kind;
  uint32_t severity;
  const char* message;
  const char* advice;
};
constexpr FaultText fault_texts[] = {
    {LossFault::Kind::one_class, LOUPE_SEVERITY_ERROR,
     ", so there is only one class: the loss is always 0, and so is every gradient",
     "give the model one output for each class, or use binary_cross_entropy_with_logits for one output"},
    {LossFault::Kind::broadcast, LOUPE_SEVERITY_ERROR, ", so each output is compared with targets of other samples",
     "give both the same shape, for example by output.squeeze(1) or target.unsqueeze(1)"},
    {LossFault::Kind::target_repeated, LOUPE_SEVERITY_INFO, ", so the target is repeated",
     "unless this is intended, give both the same shape"},
    {LossFault::Kind::no_logarithms, LOUPE_SEVERITY_ERROR, "; it takes logarithms of probabilities",
     "use log_softmax over the dimension of the classes before it, or give the scores to cross_entropy"},
    {LossFault::Kind::bounded, LOUPE_SEVERITY_WARNING, ": it applies sigmoid itself, and no sample comes near 0 or 1",
     ""},
    {LossFault::Kind::rectified, LOUPE_SEVERITY_INFO, ": a score that is cut off at 0 gets no gradient", ""},
    {LossFault::Kind::swapped, LOUPE_SEVERITY_INFO, ": the arguments seem to be swapped",
     "give the model's output first and the target second"},
};

/// Only autograd's graph shows the shapes in a loss that is written by hand. It is read at the first two steps of a
/// window, because the program's first loss may still be unknown.
LossFault fault_of_subtraction(const Judge& judge, const Model& model) {
  constexpr uint64_t looks = 2;
  LossFault fault;
  if (model.window.steps > looks || model.step.input_rows < 2) return fault;
  const std::string to_pairs = sentence(" to [", model.step.input_rows, ", ", model.step.input_rows, "]");
  for (const draft::Maker& each : draft::repeating_subtraction(judge.host)) {
    if (!each.seen.ends_with(to_pairs)) continue;  // not a number for each sample
    fault = {.kind = LossFault::Kind::broadcast,
             .function = "a subtraction in the loss",
             .given = "operands of different shapes and " + each.seen};
  }
  return fault;
}

void judge_loss_input(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const LossFault& known = model.step.loss_fault;
  const bool is_by_hand = known.kind == LossFault::Kind::none;
  const LossFault fault = is_by_hand ? fault_of_subtraction(judge, model) : known;
  const auto text = std::find_if(std::begin(fault_texts), std::end(fault_texts),
                                 [&](const FaultText& each) { return each.kind == fault.kind; });
  if (text == std::end(fault_texts)) return;
  const bool has_floor = fault.floor > 0;
  // Of several outputs, the subtraction may take any.
  judge.tell({.severity = text->severity,
              .module = is_by_hand ? model.root : model.output_module(),
              .value = has_floor ? fault.floor : NAN},
             sentence(fault.function, " is given ", fault.given,
                      has_floor ? sentence(": the loss cannot fall below ", fault.floor) : text->message),
             *text->advice != '\0' ? text->advice
                                   : sentence("pass the scores before the ", fault.maker, " to ", fault.function));
}

/// A parameter without any gradient is unused, whatever the loss is given.
bool has_zero_gradient(const Observation&, const Observation& effect) {
  return effect.value == 0;
}

}  // namespace

std::vector<Rule> loss_input_rules() {
  return {
      {.name = "double_softmax",
       .tag = "Loss",
       .help = "warning; a cross entropy is given probabilities instead of scores",
       .measure = "sums of the scores of eight samples: 1 each",
       .remedy = "leave out the softmax at the end of the model, or take the logarithm and use nll_loss",
       .looks = {{When::step, &judge_double_softmax}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"vanishing_gradient", "loss_not_decreasing"}}},
       .example = R"(-auto output = torch::softmax(model->forward(x), 1);
-auto loss = torch::cross_entropy_loss(output, y);  // a softmax again
+auto scores = model->forward(x);
+auto loss = torch::cross_entropy_loss(scores, y);)"},
      {.name = "loss_input",
       .tag = "Loss",
       .help = "error, warning or info; a loss function is given unsuitable arguments",
       .measure = "shapes, ranges and sums of a loss function's arguments, and the function that made them; shapes of "
                  "the subtractions in a loss",
       .remedy = "give it what it needs: scores or logarithms of probabilities, in the shape of the targets",
       .looks = {{When::step, &judge_loss_input}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"unchanged_parameter"}, .agrees = &has_zero_gradient},
                        {.effects = {"vanishing_gradient", "exploding_gradient", "dead_units", "saturated_activation",
                                     "constant_output", "loss_spike", "loss_oscillating", "diverging_loss",
                                     "update_ratio", "loss_not_decreasing"}}},
       .example = R"(-auto output = model->forward(x);  // 64 x 1, and y has 64 elements:
-auto loss = torch::mse_loss(output, y);  // compares each with all
+auto output = model->forward(x).squeeze(1);
+auto loss = torch::mse_loss(output, y);)"},
      {.name = "unbalanced_targets",
       .tag = "Loss",
       .help = "warning or info; most targets are one class; a warning if the model answers no other",
       .measure = "the classes of 256 targets or more: 75 % are of one class; 90 % with two or three classes",
       .remedy = "give the loss ignore_index if that class is padding; if others are rare, weight classes in the loss "
                 "or sample rare ones more often; count right answers by class",
       .looks = {{When::tick, &judge_balance}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"dead_units", "constant_output", "vanishing_gradient", "loss_not_decreasing"}}},
       .example = R"(-// Most of the targets are padding.
-auto loss = torch::nn::functional::cross_entropy(scores, tokens);
+namespace F = torch::nn::functional;
+auto options = F::CrossEntropyFuncOptions().ignore_index(padding);
+auto loss = F::cross_entropy(scores, tokens, options);)"},
      {.name = "target_scale",
       .tag = "Loss",
       .help = "warning; the targets stay far larger than the model's outputs",
       .measure = "root mean squares of targets, above 100, and of outputs, below a twentieth of that; three epochs in "
                  "a row, two "
                  "below a thousandth",
       .remedy = "scale the targets before training, such as by their mean and standard deviation, and scale the "
                 "outputs back where they are used",
       .looks = {{When::tick, &judge_target_scale}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"exploding_gradient", "dead_units", "saturated_activation", "constant_output",
                                     "loss_oscillating", "update_ratio", "loss_not_decreasing"}}},
       .example = R"(-auto loss = torch::mse_loss(model->forward(x), price);  // 300000
+auto target = (price - price_mean) / price_deviation;
+auto loss = torch::mse_loss(model->forward(x), target);)"},
  };
}

}  // namespace loupe::health
