#include "torch/forward_scope.h"

#include "core/log.h"
#include "torch/attachment.h"
#include "torch/gradient_taps.h"
#include "torch/tensor_view.h"

namespace loupe {
namespace {

uint32_t event_flags(bool training) {
  uint32_t flags = training ? uint32_t{LOUPE_EVENT_TRAINING} : 0U;
  if (at::GradMode::is_enabled()) flags |= LOUPE_EVENT_GRAD_ENABLED;
  return flags;
}

/// Views of a few tensors with the array of pointers that an event carries.
class ViewList {
 public:
  explicit ViewList(const TensorList& tensors) {
    for (const at::Tensor* tensor : tensors) {
      views_.push_back(std::make_unique<TorchTensorView>(*tensor));
      if (views_.back()->readable()) pointers_.push_back(views_.back()->get());
    }
  }
  const loupe_tensor* const* data() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  std::vector<std::unique_ptr<TorchTensorView>> views_;
  std::vector<const loupe_tensor*> pointers_;
};

void dispatch(Stream& stream, const TensorList& main, uint32_t flags, bool wants_tensors, const TensorList& inputs,
              const TensorList& outputs) {
  if (main.empty()) return;
  const TorchTensorView view(*main[0]);
  if (!view.readable()) return;
  if (!wants_tensors) return stream.dispatch(view.get(), flags);
  const ViewList input_views(inputs), output_views(outputs);
  stream.dispatch(view.get(), flags, input_views.data(), input_views.size(), output_views.data(), output_views.size());
}

void dispatch_attributes(const std::vector<AttributeTap>& attributes, uint32_t flags) {
  for (const AttributeTap& attribute : attributes) {
    at::Tensor value;
    try {
      value = attribute.get();
    } catch (const std::exception& e) {
      attribute.stream->fail("reading '" + attribute.stream->label() + "' failed: " + e.what());
      continue;
    }
    if (!value.defined()) {
      attribute.stream->dispatch(nullptr, flags);
      continue;
    }
    const TorchTensorView view(value);
    if (view.readable()) attribute.stream->dispatch(view.get(), flags);
  }
}

/// A function's own point after one module of one model; made when it is first seen.
std::shared_ptr<TapPoint> function_point(TapPoint& after, const FunctionKind& kind, std::size_t occurrence) {
  const std::lock_guard lock(after.functions_mutex);
  const auto index = static_cast<std::size_t>(kind.index);
  if (after.functions.size() <= index) after.functions.resize(index + 1);
  auto& points = after.functions[index];
  while (points.size() <= occurrence) {
    const auto attachment = after.attachment.lock();
    if (attachment == nullptr) return nullptr;
    points.push_back(attachment->add_function(after, kind, points.size()));
  }
  return points[occurrence];
}

void leave_point(const TapPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  if (!point.attributes_after.empty()) dispatch_attributes(point.attributes_after, flags);
  if (point.forward != nullptr) dispatch(*point.forward, outputs, flags, point.wants_tensors, inputs, outputs);
  if (point.output_gradient != nullptr && !outputs.empty())
    watch_gradient(*outputs[0], point.node, *point.output_gradient, flags);
}

void tell_of_too_many(const ModuleEntry& entry, const FunctionKind& kind) {
  for (const auto& after : entry.points) {
    if (!after->listening() || after->listener || after->told_of_functions.exchange(true)) continue;
    log(LOUPE_LOG_WARNING, "more than " + std::to_string(max_occurrences) + " calls of torch::" + kind.name +
                               " come after '" + after->node->description().name +
                               "' in one forward; the later ones are not shown");
  }
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

ForwardScope::ForwardScope(torch::nn::Module* module) : module_(module) {
  ThreadState& state = thread_state();
  if (state.depth++ == 0 && Registry::instance().refresh(state.table, state.generation)) state.last = nullptr;
  const auto found = state.table->find(module);
  if (found != state.table->end()) entry_ = &found->second;
  if (entry_ != nullptr && entry_->opaque) ++state.opaque;
}

ForwardScope::~ForwardScope() {
  ThreadState& state = thread_state();
  --state.depth;
  if (entry_ != nullptr && entry_->opaque) --state.opaque;
  state.last = entry_;
  state.occurrences.fill(0);
}

bool ForwardScope::wants_inputs() const {
  for (const auto& point : entry_->points) {
    if (point->listener || point->before != nullptr || point->input_gradient != nullptr || point->wants_tensors)
      return true;
  }
  return false;
}

void ForwardScope::enter_with(const TensorList& inputs) {
  const uint32_t flags = event_flags(module_->is_training());
  for (const auto& point : entry_->points) {
    if (!point->listening() || !point->alive()) continue;
    if (point->listener) {
      point->listener->entered(*module_, inputs.data(), inputs.size());
      keep(inputs);
      continue;
    }
    keep_hooks(*point);
    if (point->checks_steps && thread_state().depth == 1) {
      if (const auto attachment = point->attachment.lock()) attachment->notice_unseen_step();
    }
    if (!point->attributes_before.empty()) dispatch_attributes(point->attributes_before, flags);
    if (point->before != nullptr) dispatch(*point->before, inputs, flags, point->before->wants_tensors(), inputs, {});
    if (point->input_gradient != nullptr && !inputs.empty())
      watch_gradient(*inputs[0], point->node, *point->input_gradient, flags);
    if (point->wants_tensors) keep(inputs);
  }
}

void ForwardScope::keep(const TensorList& inputs) {
  // A forward that takes its tensor by value leaves nothing behind in the argument.
  if (!inputs_.empty()) return;
  for (const at::Tensor* input : inputs) inputs_.push_back(*input);
}

void ForwardScope::leave_with(const TensorList& outputs) {
  ThreadState& state = thread_state();
  state.last_training = module_->is_training();
  const uint32_t flags = event_flags(state.last_training);
  TensorList inputs;
  for (const at::Tensor& input : inputs_) inputs.push_back(&input);
  for (const auto& point : entry_->points) {
    if (!point->listening() || !point->alive()) continue;
    if (point->listener) {
      point->listener->left(*module_, inputs.data(), inputs.size(), outputs.data(), outputs.size());
    } else {
      leave_point(*point, flags, inputs, outputs);
    }
  }
}

void function_called(const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output) {
  ThreadState& state = thread_state();
  if (state.last == nullptr || !output.defined()) return;
  std::uint8_t& count = state.occurrences[static_cast<std::size_t>(kind.index)];
  if (count == max_occurrences) return tell_of_too_many(*state.last, kind);
  const std::size_t occurrence = count++;
  const uint32_t flags = event_flags(state.last_training);
  for (const auto& after : state.last->points) {
    if (!after->listening() || !after->alive() || after->listener) continue;
    const auto point = function_point(*after, kind, occurrence);
    if (point == nullptr || !point->listening()) continue;
    const TensorList inputs = {&input}, outputs = {&output};
    leave_point(*point, flags, input.defined() ? inputs : TensorList(), outputs);
  }
}

}  // namespace loupe
