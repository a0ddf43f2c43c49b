// Rules about the targets that a model is trained with.

#include <cmath>
#include <cstring>
#include <string>

#include "health/rules/rule.h"
#include "health/rules/target_tally.h"

namespace loupe::health {

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
  constexpr uint32_t looks_enough = 8;
  constexpr int64_t targets_enough = 256;
  if (looks_ < looks_enough) return;
  // With several heads the targets of one say nothing of another's.
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
    constexpr double large = 100, far = 0.05;
    target_size_ = std::sqrt(target_squares_ / static_cast<double>(pairs_));
    output_size_ = std::sqrt(output_squares_ / static_cast<double>(pairs_));
    const bool are_far_larger = is_judged && target_size_ > large && output_size_ < far * target_size_;
    epochs_far_larger_ = are_far_larger ? epochs_far_larger_ + 1 : 0;
    output_squares_ = target_squares_ = 0;
    pairs_ = 0;
    looks_ = 0;
  }
}

void judge_balance(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const TargetTally& targets = model.target_tally;
  if (!targets.is_unbalanced()) return;
  const bool is_all_it_answers = targets.answers_one_class();
  Observation seen;
  seen.severity = is_all_it_answers ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO;
  seen.at_tick = true;
  seen.module = model.last_layer != nullptr ? model.last_layer->module : model.root;
  seen.value = targets.share();
  seen.tag = "Loss";
  seen.message = percent(targets.share()) + " of the targets of " + targets.function() + " are class " +
                 std::to_string(targets.common_class()) + ", one of " + std::to_string(targets.classes()) +
                 (is_all_it_answers ? ", and that is all that the model answers"
                                    : ": a model that always answers it is right as often");
  seen.advice =
      "if that class is padding, give the loss ignore_index; if the others are rare, give the loss a weight for each "
      "class or sample the rare ones more often, and look at how many of each class are right";
  judge.tell(seen);
}

void judge_target_scale(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const TargetTally& targets = model.target_tally;
  if (!targets.are_far_larger()) return;
  Observation seen;
  seen.at_tick = true;
  seen.module = model.last_layer != nullptr ? model.last_layer->module : model.root;
  seen.value = targets.target_size();
  seen.threshold = targets.output_size();
  seen.tag = "Loss";
  seen.message = std::string("the targets of ") + targets.function() +
                 " are far larger than what the model gives: " + number(targets.target_size()) + " beside " +
                 number(targets.output_size()) + ", as root mean squares of the last epoch";
  seen.advice =
      "scale the targets before training, such as by their mean and standard deviation, and scale the outputs back "
      "where they are used";
  judge.tell(seen);
}

}  // namespace loupe::health
