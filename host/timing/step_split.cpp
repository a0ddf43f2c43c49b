#include "timing/step_split.h"

#include <algorithm>
#include <utility>

namespace loupe {

const char* name_of(StepPart part) {
  constexpr const char* names[] = {"waiting", "forward", "backward", "optimizer", "other", "loupe"};
  return names[static_cast<std::size_t>(part)];
}

void StepSplit::begin(double now) {
  parts_ = {};
  layers_.clear();
  frames_.clear();
  before_ = Before::start;
  loupe_ = optimizers_ = 0;
  begun_ = last_ = now;
  gap_ = 0;
  elsewhere_ = 0;
}

StepSplit::Layer& StepSplit::layer(int number) {
  const auto index = static_cast<std::size_t>(number);
  if (layers_.size() <= index) layers_.resize(index + 1);
  return layers_[index];
}

/// Time has gone by: it belongs to whatever is on.
void StepSplit::pass(double now) {
  const double seconds = now - std::exchange(last_, now);
  if (loupe_ > 0) {
    part(StepPart::loupe) += seconds;
  } else if (frames_.empty()) {
    gap_ += seconds;
  } else {
    // A forward within a node of the graph computes again what was not kept.
    const bool goes_backward = frames_.front().is_node, trains = frames_.front().trains;
    part(goes_backward ? StepPart::backward : trains ? StepPart::forward : StepPart::other) += seconds;
    const int innermost = frames_.back().layer;
    if (innermost < 0 || !(goes_backward || trains)) return;
    (goes_backward ? layer(innermost).backward : layer(innermost).forward) += seconds;
  }
}

/// The gap is over. Of a backward pass on other threads nothing else is seen here.
void StepSplit::claim(StepPart by) {
  const double elsewhere = std::exchange(gap_, 0), backward_until = elsewhere_.exchange(0);
  double left = elsewhere;
  if (backward_until > last_ - elsewhere) {
    const double backward = std::min(elsewhere, backward_until - (last_ - elsewhere));
    part(StepPart::backward) += backward;
    left -= backward;
    before_ = Before::backward;
  }
  part(by) += left;
}

void StepSplit::enter_forward(int number, bool trains, double now) {
  pass(now);
  const bool is_outermost = frames_.empty();
  if (!is_outermost) trains = frames_.front().trains;
  if (is_outermost) {
    const bool waits = before_ != Before::forward && before_ != Before::evaluation;
    if (before_ == Before::forward) {
      claim(StepPart::forward);
    } else if (optimizers_ > 0) {
      claim(StepPart::optimizer);
    } else {
      claim(trains && waits ? StepPart::waiting : StepPart::other);
    }
  }
  frames_.push_back({number, false, trains});
  if (number >= 0 && trains) ++layer(number).calls;
}

void StepSplit::leave_forward(double now) {
  pass(now);
  if (frames_.empty()) return;
  const Frame left = frames_.back();
  frames_.pop_back();
  if (!frames_.empty()) return;
  if (left.trains) {
    before_ = Before::forward;
  } else if (before_ != Before::forward) {
    before_ = Before::evaluation;
  }
}

void StepSplit::enter_node(int number, double now) {
  pass(now);
  if (frames_.empty())
    claim(before_ == Before::forward || before_ == Before::backward ? StepPart::backward : StepPart::other);
  frames_.push_back({number, true, false});
}

void StepSplit::leave_node(double now) {
  pass(now);
  if (frames_.empty()) return;
  frames_.pop_back();
  if (frames_.empty()) before_ = Before::backward;
}

void StepSplit::enter_optimizer(double now) {
  pass(now);
  if (optimizers_++ == 0) claim(StepPart::other);
}

void StepSplit::leave_optimizer(double now) {
  pass(now);
  if (optimizers_ == 0 || --optimizers_ > 0) return;
  claim(StepPart::optimizer);
  before_ = Before::optimizer;
}

void StepSplit::enter_loupe(double now) {
  pass(now);
  ++loupe_;
}

void StepSplit::leave_loupe(double now) {
  pass(now);
  if (loupe_ > 0) --loupe_;
}

double StepSplit::end(double now) {
  pass(now);
  claim(StepPart::other);
  return now - begun_;
}

}  // namespace loupe
