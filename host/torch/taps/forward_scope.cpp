#include "torch/taps/forward_scope.h"

#include <ATen/SequenceNumber.h>
#include <torch/nn/module.h>
#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <list>
#include <new>
#include <utility>

#include "core/log.h"
#include "loupe/tapped.h"
#include "pipeline/step_timing.h"
#include "torch/model/module_types.h"
#include "torch/model/registry.h"
#include "torch/taps/forward_taps.h"
#include "torch/taps/gradient_taps.h"
#include "torch/tensor/tensor_dispatch.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

/// Views of the tensors of one forward, created when first read.
class ForwardViews : public ForwardTensors {
 public:
  /// @param known  the existing view of `shown`
  ForwardViews(const TensorList& inputs, const TensorList& outputs, const ModuleNode& module, const at::Tensor& shown,
               const TorchTensorView& known)
      : inputs_(inputs), outputs_(outputs), module_(module), shown_(shown), known_(known) {}

  void lend(loupe_event& event) override {
    if (!std::exchange(are_made_, true)) {
      make(inputs_, "the inputs", input_views_);
      make(outputs_, "the outputs", output_views_);
    }
    event.inputs = input_views_.data();
    event.input_count = input_views_.size();
    event.outputs = output_views_.data();
    event.output_count = output_views_.size();
  }

 private:
  using Pointers = c10::SmallVector<const loupe_tensor*, 8>;

  void make(const TensorList& tensors, const char* of, Pointers& pointers) {
    for (const at::Tensor* tensor : tensors) {
      if (tensor == &shown_) {
        pointers.push_back(known_.get());
        continue;
      }
      const TorchTensorView& view =
          few_.size() < few_.capacity() ? few_.emplace_back(*tensor) : more_.emplace_back(*tensor);
      if (view.readable()) {
        pointers.push_back(view.get());
      } else {
        tell_unreadable(*tensor, of, module_);
      }
    }
  }

  const TensorList &inputs_, &outputs_;
  const ModuleNode& module_;
  const at::Tensor& shown_;
  const TorchTensorView& known_;
  bool are_made_ = false;
  // Nearly all forwards have few tensors, so avoid an allocation.
  boost::container::static_vector<TorchTensorView, 8> few_;
  std::list<TorchTensorView> more_;
  Pointers input_views_, output_views_;
};

void watch_gradient_of(const TensorList& main, const ResultPoint& point, Stream& stream, uint32_t flags) {
  if (stream.index() >= main.size()) return stream.lacks();
  watch_gradient(*main[stream.index()], point, stream, flags);
}

/// Sends to the streams of inputs after the first, and of their gradients.
void enter_further(const TapPoint& point, uint32_t flags, const TensorList& inputs) {
  for (Stream* stream : point.further) {
    if (stream->tap() == LOUPE_TAP_FORWARD_BEFORE) send(*stream, inputs, flags, stream->wants_tensors(), inputs, {});
    if (stream->tap() == LOUPE_TAP_INPUT_GRADIENT) watch_gradient_of(inputs, point, *stream, flags);
  }
}

/// Sends to the streams of outputs after the first, and of their gradients.
void leave_further(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  for (Stream* stream : point.further) {
    if (stream->tap() == LOUPE_TAP_FORWARD) send(*stream, outputs, flags, point.wants_tensors, inputs, outputs);
    if (stream->tap() == LOUPE_TAP_OUTPUT_GRADIENT) watch_gradient_of(outputs, point, *stream, flags);
  }
}

}  // namespace

void send(Stream& stream, const TensorList& main, uint32_t flags, bool wants_tensors, const TensorList& inputs,
          const TensorList& outputs) {
  const uint32_t index = stream.index();
  if (stream.resting()) return;
  if (main.size() <= index) return index > 0 ? stream.lacks() : void();
  const TorchTensorView view(*main[index]);
  if (!view.readable()) return tell_unreadable(*main[index], stream);
  flags |= view.flags();
  if (!wants_tensors) return stream.dispatch(view.get(), flags);
  ForwardViews tensors(inputs, outputs, stream.module(), *main[index], view);
  stream.dispatch(view.get(), flags, &tensors);
}

void show_result(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  if (point.is_awake()) send(*point.forward, outputs, flags, point.reads_tensors(), inputs, outputs);
  if (point.is_simple) return;
  if (point.output_gradient != nullptr && !outputs.empty())
    watch_gradient(*outputs[0], point, *point.output_gradient, flags);
  if (!point.further.empty()) leave_further(point, flags, inputs, outputs);
}

namespace {

void send_attributes(const std::vector<AttributeTap>& attributes, uint32_t flags) {
  for (const AttributeTap& attribute : attributes) {
    if (attribute.stream->resting()) continue;
    at::Tensor value;
    try {
      value = attribute.get();
    } catch (const std::exception& e) {
      attribute.stream->fail("reading '" + attribute.stream->label() + "' failed: " + e.what());
      continue;
    }
    if (value.defined()) {
      dispatch_tensor(attribute.stream, value, flags);
    } else {
      attribute.stream->dispatch(nullptr, flags);
    }
  }
}

/// Sends a module's inputs and attributes as its forward begins.
void enter_streams(const TapPoint& point, uint32_t flags, const TensorList& inputs) {
  if (!point.attributes_before.empty()) send_attributes(point.attributes_before, flags);
  if (point.before != nullptr) send(*point.before, inputs, flags, point.before->wants_tensors(), inputs, {});
  if (point.input_gradient != nullptr && !inputs.empty())
    watch_gradient(*inputs[0], point, *point.input_gradient, flags);
  if (!point.further.empty()) enter_further(point, flags, inputs);
}

/// Whether this module is the root for everybody who watches it.
bool is_only_root(const ModuleEntry& entry) {
  return std::all_of(entry.points.begin(), entry.points.end(),
                     [](const auto& point) { return point->listener != nullptr || point->is_root; });
}

/// @param model  the model that it runs in
void tell_of_untrained(const ThreadState& state, const torch::nn::Module& module, const WatchedModel* model) {
  const ModuleEntry* entry = state.last != nullptr ? state.last : root_entry(state, model);
  std::string what = "a module of type " + short_type(module.name()) + " that runs";
  bool is_registered = false, is_first = true;
  if (entry != nullptr && !entry->points.empty() && entry->points[0]->node != nullptr) {
    what += " after '" + entry->points[0]->node->description().name + "'";
    for (const auto& point : entry->points) {
      const auto attachment = point->attachment.lock();
      if (attachment == nullptr) continue;
      is_registered = is_registered || attachment->has_registered(module);
      if (!is_registered) is_first = attachment->add_unregistered(module, *point);
    }
  }
  if (!is_registered && !is_first) return;  // lenses report all of them together
  log(LOUPE_LOG_WARNING,
      what + " gets gradients, but no step of an optimizer has changed it: " +
          (is_registered ? "the model has registered it, but the optimizer does not hold its parameters, for example "
                           "because it was added later; create the optimizer again, or call its add_param_group"
                         : "no module has registered it, so it is never trained; call register_module for it"));
}

}  // namespace

ForwardScope::ForwardScope(torch::nn::Module* module, const CallSite& site)
    : module_(module), listener_(WorkListener::here()), site_(site), outer_(nullptr) {
  if (listener_ != nullptr) listener_->enter_loupe();
  ThreadState& state = thread_state();
  if (state.pending_norm != nullptr) close_stale_norm();
  if (state.depth == 0) {
    if (listener_ != nullptr || state.listens) opened<TimingTable>()->begin_pass();
    const ProgramHooks* hooks = program_hooks.load(std::memory_order_acquire);
    if (hooks != nullptr && hooks->before_forward != nullptr) hooks->before_forward(*module);
    refresh(state);
  }
  entry_ = state.table->find(module);
  outer_ = state.scope;
  if (state.depth == 0 && entry_ != nullptr) begin_outermost(state, *module, *entry_, site_);
  if (entry_ == nullptr && state.opaque == 0) enter_unregistered();
  if (outer_ != nullptr && !outer_->began_ && entry_ != nullptr) {
    outer_->began_ = true;
    outer_->occurrences_ = state.occurrences;
  }
  opaque_ = entry_ == nullptr || entry_->opaque;
  if (opaque_) ++state.opaque;
  ++state.depth;
  state.scope = this;
  if (!opaque_) {
    state.last = entry_;
    state.last_training = module->is_training();
    state.occurrences.fill(0);
  }
}

ForwardScope::~ForwardScope() {
  if (is_clocked_) end_time();  // the forward threw
  struct EndOfWork {
    WorkListener* listener;
    ~EndOfWork() {
      if (listener != nullptr) listener->leave_loupe();
    }
  } const after{listener_};
  ThreadState& state = thread_state();
  --state.depth;
  state.scope = outer_;
  if (opaque_) --state.opaque;
  if (entry_ == nullptr) return;
  // Functions that it calls itself continue the count, like those after it.
  if (began_) state.occurrences = occurrences_;
  if (opaque_) state.occurrences.fill(0);
  state.last = entry_;
  if (state.depth == 0 && is_only_root(*entry_)) end_pass();
}

bool ForwardScope::trains() const {
  if (!at::GradMode::is_enabled()) return false;
  if (module_->is_training()) return true;
  // It may be a frozen part of a model that trains.
  const ThreadState& state = thread_state();
  const ModuleEntry* root = root_entry(state, state.last_model);
  const auto owner = root != nullptr && !root->points.empty() ? root->points[0]->owner.lock() : nullptr;
  return owner != nullptr && owner->is_training();
}

/// Loupe's own work is done and the forward begins. Results shown by Loupe's work were computed before.
void ForwardScope::begin_time() {
  own_.reset();
  runs_ = true;
  if (listener_ == nullptr) return;
  listener_->leave_loupe();
  if (entry_ == nullptr) return;
  const auto made = static_cast<int64_t>(at::sequence_number::peek());
  is_timed_ = listener_->enter_forward(module_, trains(), made, [this] {
    WorkListener::Nodes nodes;
    for (const auto& point : entry_->points) {
      if (point->node != nullptr) nodes.emplace_back(point->node);
    }
    return nodes;
  });
}

void ForwardScope::end_time() {
  if (!std::exchange(runs_, false)) return;
  own_.emplace(OwnTime::Of::hooks);
  if (listener_ == nullptr) return;
  if (is_timed_) listener_->leave_forward(static_cast<int64_t>(at::sequence_number::peek()));
  listener_->enter_loupe();
}

/// A module that no attached model registered: the trainer's, another model's, or a forgotten one.
void ForwardScope::enter_unregistered() {
  ThreadState& state = thread_state();
  UnregisteredModule& known = state.unregistered.find(*module_);
  const CallPlace place = state.depth > 0 ? CallPlace() : place_of(state, site_);
  // A forward that the compiler inlined looks like the trainer's code.
  const bool inside = state.depth > 0 || place.in_root;
  if (known.has_parameters && known.is_never_trained(*module_, state.steps, inside))
    tell_of_untrained(state, *module_, inside ? place.attachment : state.last_model);
  if (known.is_loss || known.has_parameters) return end_pass();
  kind_ = known.kind;
}

void ForwardScope::leave_as_function(const TensorList& outputs) {
  if (outputs.empty()) return;
  ThreadState& state = thread_state();
  // Its own forward has ended.
  state.scope = outer_;
  --state.depth;
  --state.opaque;
  struct Restore {
    ThreadState& state;
    ForwardScope* scope;
    ~Restore() {
      state.scope = scope;
      ++state.depth;
      ++state.opaque;
    }
  } restore{state, this};
  if (state.opaque == 0) function_called(*kind_, inputs_.empty() ? at::Tensor() : inputs_[0], *outputs[0], site_);
}

bool ForwardScope::wants_inputs() const {
  if (entry_ == nullptr) return true;
  for (const auto& point : entry_->points) {
    if (point->reads_tensors()) return true;
    if (point->is_simple) continue;
    const bool by_one = point->before != nullptr || point->input_gradient != nullptr;
    if (point->listener || by_one || !point->further.empty()) return true;
  }
  return false;
}

void ForwardScope::enter_with(const TensorList& inputs) {
  if (entry_ == nullptr) return keep(inputs);
  const uint32_t flags = event_flags(module_->is_training());
  for (const auto& point : entry_->points) {
    if (!point->listening() || !point->alive()) continue;
    if (!point->is_simple && point->listener) {
      point->listener->entered(*module_, inputs.data(), inputs.size());
      keep(inputs);
      continue;
    }
    const uint8_t how = module_->is_training() ? ran_at_all | ran_in_training : ran_at_all;
    if ((point->ran.load(std::memory_order_relaxed) & how) != how) {
      point->ran.fetch_or(how, std::memory_order_relaxed);
      point->node->calls().forward.note();
    }
    if (point->is_awake()) point->forward->fetch();  // prefetched while the forward runs
    keep_hooks(*point);
    if (point->checks_steps.load(std::memory_order_relaxed) && thread_state().depth == 1) {
      if (const auto attachment = point->attachment.lock()) attachment->notice_unseen_step();
    }
    if (!point->is_simple) enter_streams(*point, flags, inputs);
    if (point->reads_tensors()) keep(inputs);
  }
}

void ForwardScope::keep(const TensorList& inputs) {
  // A forward that takes its tensor by value leaves nothing behind in the argument.
  if (!inputs_.empty()) return;
  for (const at::Tensor* input : inputs) inputs_.push_back(*input);
}

void ForwardScope::leave_with(const TensorList& outputs) {
  if (entry_ == nullptr) return leave_as_function(outputs);
  ThreadState& state = thread_state();
  state.last_training = module_->is_training();
  const uint32_t flags = event_flags(state.last_training);
  TensorList inputs;
  for (const at::Tensor& input : inputs_) inputs.push_back(&input);
  for (const auto& point : entry_->points) {
    if (!point->listening() || !point->alive()) continue;
    if (!point->is_simple && point->listener) {
      point->listener->left(*module_, inputs.data(), inputs.size(), outputs.data(), outputs.size());
      continue;
    }
    if (!point->is_simple && !point->attributes_after.empty()) send_attributes(point->attributes_after, flags);
    show_result(*point, flags, inputs, outputs);
  }
}

}  // namespace loupe

namespace loupe::host_detail {

TappedMark::~TappedMark() = default;

struct TappedForward::State {
  State(torch::nn::Module* module, const CallSite& site) : scope(module, site) {}
  ForwardScope scope;
  TensorList inputs, outputs;
};

TappedForward::State& TappedForward::state() {
  return *std::launder(reinterpret_cast<State*>(memory_));
}

TappedForward::TappedForward(const torch::nn::Module* module) {
  static_assert(sizeof(State) <= sizeof memory_ && alignof(State) <= 16, "the header keeps room for a State");
  if (active_attachments.load(std::memory_order_relaxed) == 0) return;
  new (memory_)
      State(const_cast<torch::nn::Module*>(module), LOUPE_CALL_SITE);  // a const forward; only identified and read here
  watched_ = state().scope.watched();
  if (!watched_) state().~State();
}

TappedForward::~TappedForward() {
  if (watched_) state().~State();
}

void TappedForward::input(const at::Tensor& tensor) {
  collect(state().inputs, tensor);
}

void TappedForward::entered() {
  state().scope.enter_tensors(state().inputs);
}

void TappedForward::output(const at::Tensor& tensor) {
  collect(state().outputs, tensor);
}

void TappedForward::left() {
  state().scope.leave_tensors(state().outputs);
}

}  // namespace loupe::host_detail
