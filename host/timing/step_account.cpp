#include "timing/step_account.h"

namespace loupe {

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
      split_.leave_forward(now);
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
