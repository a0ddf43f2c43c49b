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
  evaluating_ = evaluated_ = first_wait_ = 0;
  waits_ = 0;
  elsewhere_ = 0;
}

StepSplit::Layer& StepSplit::layer(int number) {
  const auto index = static_cast<std::size_t>(number);
  if (layers_.size() <= index) layers_.resize(index + 1);
  return layers_[index];
}

/// Adds the elapsed time to the current activity.
void StepSplit::pass(double now) {
  const double seconds = now - std::exchange(last_, now);
  if (loupe_ > 0) {
    part(StepPart::loupe) += seconds;
  } else if (frames_.empty()) {
    gap_ += seconds;
  } else {
    // A forward within a node of the graph recomputes (checkpointing).
    const bool goes_backward = frames_.front().is_node, trains = frames_.front().trains;
    part(goes_backward ? StepPart::backward : trains ? StepPart::forward : StepPart::other) += seconds;
    if (!goes_backward && !trains) evaluating_ += seconds;
    const int innermost = frames_.back().layer;
    if (innermost < 0 || !(goes_backward || trains)) return;
    (goes_backward ? layer(innermost).backward : layer(innermost).forward) += seconds;
  }
}

/// A backward pass has come: forwards in eval mode before it were the step's forward, if it had no other. A program may
/// never call train().
void StepSplit::count_evaluation() {
  const double seconds = std::exchange(evaluated_, 0);
  if (before_ != Before::evaluation || seconds == 0) return;
  part(StepPart::other) -= seconds;
  part(StepPart::forward) += seconds;
  before_ = Before::forward;
}

/// Adds the gap that has ended to parts. A backward pass on other threads shows only as a gap.
void StepSplit::claim(StepPart by) {
  const double elsewhere = std::exchange(gap_, 0), backward_until = elsewhere_.exchange(0);
  double left = elsewhere;
  if (backward_until > last_ - elsewhere) {
    count_evaluation();
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
      if (trains && waits && waits_++ == 0) first_wait_ = part(StepPart::waiting);
    }
  }
  frames_.push_back({number, false, trains});
  if (number >= 0 && trains) ++layer(number).calls;
}

void StepSplit::leave_forward(double now, bool has_graph) {
  pass(now);
  if (frames_.empty()) return;
  const Frame left = frames_.back();
  frames_.pop_back();
  if (!frames_.empty()) return;
  const double evaluating = std::exchange(evaluating_, 0);
  if (has_graph) evaluated_ += evaluating;
  if (left.trains) {
    before_ = Before::forward;
  } else if (before_ != Before::forward) {
    before_ = Before::evaluation;
  }
}

void StepSplit::enter_node(int number, double now) {
  pass(now);
  if (frames_.empty()) {
    count_evaluation();
    claim(before_ == Before::forward || before_ == Before::backward ? StepPart::backward : StepPart::other);
  }
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
  // Between two backward passes a program may also work on gradients, as where it clips those of each sample.
  const double work = std::max(0.0, part(StepPart::waiting) - waits_ * first_wait_);
  part(StepPart::waiting) -= work;
  part(StepPart::other) += work;
  return now - begun_;
}

void StepAccount::begin(double now, bool keeps_spans) {
  split_.begin(now);
  keeps_spans_ = keeps_spans;
  spans_.clear();
  open_spans_.clear();
}

void StepAccount::tell(const StepCall& call, double now) {
  const bool was_in_loupe = split_.is_in_loupe();
  switch (call.kind) {
    case StepCall::Kind::enter_forward:
      split_.enter_forward(call.layer, call.trains, now);
      return open_span(Span::Kind::forward, call, now);
    case StepCall::Kind::enter_node:
      split_.enter_node(call.layer, now);
      return open_span(Span::Kind::backward, call, now);
    case StepCall::Kind::enter_optimizer:
      split_.enter_optimizer(now);
      return open_span(Span::Kind::optimizer, call, now);
    case StepCall::Kind::enter_loupe:
      split_.enter_loupe(now);
      if (!was_in_loupe) open_span(Span::Kind::loupe, call, now);
      return;
    case StepCall::Kind::leave_loupe:
      split_.leave_loupe(now);
      if (was_in_loupe && !split_.is_in_loupe()) close_span(now);
      return;
    case StepCall::Kind::leave_forward:
      split_.leave_forward(now, call.has_graph);
      return close_span(now);
    case StepCall::Kind::leave_node:
      split_.leave_node(now);
      return close_span(now);
    case StepCall::Kind::leave_optimizer:
      split_.leave_optimizer(now);
      return close_span(now);
  }
}

double StepAccount::end(double now) {
  while (!open_spans_.empty()) close_span(now);
  return split_.end(now);
}

void StepAccount::open_span(Span::Kind kind, const StepCall& call, double now) {
  if (!keeps_spans_) return;
  open_spans_.push_back(spans_.size());
  spans_.push_back({kind, call.layer, now, now, call.name});
}

void StepAccount::close_span(double now) {
  if (open_spans_.empty()) return;
  spans_[open_spans_.back()].end = now;
  open_spans_.pop_back();
}

}  // namespace loupe
