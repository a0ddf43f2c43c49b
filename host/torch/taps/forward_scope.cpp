#include "torch/taps/forward_scope.h"

#include <ATen/SequenceNumber.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "torch/model/program_hooks.h"
#include "torch/model/watched_model.h"
#include "torch/taps/gradient_taps.h"
#include "torch/taps/norm_taps.h"
#include "torch/taps/timed_step.h"

namespace loupe {
namespace {

/// True if this module is the root for every inspector: what runs after it belongs to no model.
bool is_only_root(const ModuleEntry& entry) {
  return std::all_of(entry.points.begin(), entry.points.end(),
                     [](const auto& point) { return point->listener != nullptr || point->is_root; });
}

/// @param model  the model inside of which it runs
void tell_of_untrained(const ThreadState& state, const torch::nn::Module& module, const WatchedModel* model) {
  const ModuleEntry* entry = state.last != nullptr ? state.last : root_entry(state, model);
  std::string after;
  bool is_registered = false;
  if (entry != nullptr && !entry->points.empty() && entry->points[0]->node != nullptr) {
    const std::string& name = entry->points[0]->node->description().name;
    after = " after '" + name + "'";
    for (const auto& point : entry->points) {
      const auto attachment = point->attachment.lock();
      if (attachment == nullptr) continue;
      is_registered = is_registered || attachment->has_registered(module);
      if (!is_registered) attachment->add_unregistered(module, *point);
    }
  }
  if (is_registered) {
    log(LOUPE_LOG_WARNING, "a " + module.name() + " that runs" + after +
                               " gets gradients, but no step of an optimizer has changed it: the model has registered "
                               "it, but the optimizer does not hold its parameters, as where a module is put in "
                               "later; make the optimizer anew, or call its add_param_group");
    return;
  }
  log(LOUPE_LOG_WARNING, "a " + module.name() + " that runs" + after +
                             " gets gradients, but no step of an optimizer has changed it: no module has registered "
                             "it, so it is never trained; call register_module for it");
}

}  // namespace

ForwardScope::ForwardScope(torch::nn::Module* module, const CallSite& site)
    : module_(module), timer_(StepTimer::here()), site_(site), outer_(nullptr) {
  if (timer_ != nullptr) timer_->enter_loupe();
  ThreadState& state = thread_state();
  if (state.pending_norm != nullptr) close_stale_norm();
  if (state.depth == 0) {
    if (timer_ != nullptr || state.listens) follow_timed_step();
    if (const ProgramHooks* hooks = program_hooks.load(std::memory_order_acquire)) hooks->before_forward(*module);
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
  if (timer_ != nullptr) end_time();  // where the forward threw
  struct EndOfWork {
    StepTimer* timer;
    ~EndOfWork() {
      if (timer != nullptr && StepTimer::here() != nullptr) timer->leave_loupe();
    }
  } const after{timer_};
  ThreadState& state = thread_state();
  --state.depth;
  state.scope = outer_;
  if (opaque_) --state.opaque;
  if (entry_ == nullptr) return;
  // Functions that it calls itself and those that come after it are counted on.
  if (began_) state.occurrences = occurrences_;
  if (opaque_) state.occurrences.fill(0);
  state.last = entry_;
  if (state.depth == 0 && is_only_root(*entry_)) end_pass();
}

bool ForwardScope::trains() const {
  if (!at::GradMode::is_enabled()) return false;
  if (module_->is_training()) return true;
  // A part that stays as it is, within a model that trains.
  const ThreadState& state = thread_state();
  const ModuleEntry* root = root_entry(state, state.last_model);
  const auto owner = root != nullptr && !root->points.empty() ? root->points[0]->owner.lock() : nullptr;
  return owner != nullptr && owner->is_training();
}

/// Loupe has done its work, and the forward begins. What is shown by work of Loupe's ran before.
void ForwardScope::begin_time() {
  timer_->leave_loupe();
  runs_ = true;
  if (entry_ == nullptr || timer_->is_in_loupe()) return;
  is_timed_ = true;
  timer_->enter_module(module_, trains(), static_cast<int64_t>(at::sequence_number::peek()), [&] {
    StepTimer::Nodes nodes;
    for (const auto& point : entry_->points) {
      if (point->node != nullptr) nodes.emplace_back(point->node);
    }
    return nodes;
  });
}

void ForwardScope::end_time() {
  if (!std::exchange(runs_, false) || StepTimer::here() == nullptr) return;
  if (is_timed_) timer_->leave_module(static_cast<int64_t>(at::sequence_number::peek()));
  timer_->enter_loupe();
}

/// A module that no attached model has registered: the trainer's, another model's, or one that was forgotten.
void ForwardScope::enter_unregistered() {
  ThreadState& state = thread_state();
  UnregisteredModule& known = state.unregistered.find(*module_);
  const CallPlace place = state.depth > 0 ? CallPlace() : place_of(state, site_);
  // A forward that the compiler put into its caller cannot be told from the trainer's code.
  const bool inside = state.depth > 0 || place.in_root;
  if (known.has_parameters && known.is_never_trained(*module_, state.steps, inside))
    tell_of_untrained(state, *module_, inside ? place.attachment : state.last_model);
  if (known.is_loss || known.has_parameters) return end_pass();
  kind_ = known.kind;
}

void ForwardScope::leave_as_function(const TensorList& outputs) {
  if (outputs.empty()) return;
  ThreadState& state = thread_state();
  // Its own forward is over.
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
