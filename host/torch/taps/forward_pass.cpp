#include "torch/taps/forward_pass.h"

#include <torch/nn/module.h>
#include <algorithm>

#include "core/log.h"
#include "core/threads.h"
#include "torch/model/tap_point.h"
#include "torch/taps/forward_scope.h"

namespace loupe {
namespace {

constexpr std::size_t most_waiting = 16, most_entries = 16;

/// A function's own point after one module of one model; created when first seen.
std::shared_ptr<FunctionPoint> function_point(TapPoint& after, const FunctionKind& kind, std::size_t occurrence) {
  {
    const std::lock_guard lock(after.functions_mutex);
    const auto& points = after.functions_of(kind.index);
    if (occurrence < points.size()) return points[occurrence];
  }
  const auto attachment = after.attachment.lock();
  return attachment != nullptr ? attachment->function_after(after, kind, occurrence) : nullptr;
}

void tell_of_too_many(const ModuleEntry& entry, const FunctionKind& kind) {
  for (const auto& after : entry.points) {
    if (!after->listening() || after->listener || after->told_of_functions.exchange(true)) continue;
    log(LOUPE_LOG_WARNING, "more than " + std::to_string(max_occurrences) + " calls of torch::" + kind.name +
                               " come after '" + after->node->description().name +
                               "' in one forward; the later ones are not shown");
  }
}

void tell_function(ThreadState& state, const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output,
                   uint32_t more_flags) {
  std::uint8_t& count = state.occurrences[static_cast<std::size_t>(kind.index)];
  if (count == max_occurrences) return tell_of_too_many(*state.last, kind);
  const std::size_t occurrence = count++;
  const uint32_t flags = event_flags(state.last_training) | more_flags;
  for (const auto& after : state.last->points) {
    if (!after->listening() || !after->alive() || after->listener) continue;
    const auto point = function_point(*after, kind, occurrence);
    if (point == nullptr || !point->listening()) continue;
    const TensorList inputs = {&input}, outputs = {&output};
    show_result(*point, flags, input.defined() ? inputs : TensorList(), outputs);
  }
}

/// The first watcher; few modules are part of two models.
const WatchedModel* attachment_of(const ModuleEntry& entry) {
  for (const auto& point : entry.points) {
    if (point->model_id != nullptr) return point->model_id;
  }
  return nullptr;
}

bool only_functions(const ModuleEntry& root) {
  return std::any_of(root.points.begin(), root.points.end(), [](const auto& point) { return point->only_functions; });
}

/// Whether a model is in training mode. A model on the stack, of which only functions are seen, cannot be asked: it
/// counts as training while gradients are on, so that no rule sees a contradiction.
bool is_training(const ModuleEntry& root, const WatchedModel* attachment) {
  for (const auto& point : root.points) {
    if (point->model_id != attachment) continue;
    const auto module = point->owner.lock();
    return module != nullptr ? module->is_training() : at::GradMode::is_enabled();
  }
  return at::GradMode::is_enabled();
}

const ModuleEntry** final_of(Pass& pass, const WatchedModel* attachment) {
  for (auto& [whose, entry] : pass.final) {
    if (whose == attachment) return &entry;
  }
  return nullptr;
}

/// Notes that the module that ran last ended its pass.
void note_final(ThreadState& state) {
  Pass& pass = state.pass;
  if (pass.attachment == nullptr || state.last == nullptr) return;
  if (const ModuleEntry** known = final_of(pass, pass.attachment)) {
    *known = state.last;
  } else {
    pass.final.push_back({pass.attachment, state.last});
  }
}

bool is_entry(const Pass& pass, std::uint64_t path) {
  return std::find(pass.entries.begin(), pass.entries.end(), path) != pass.entries.end();
}

/// Whether a function begins the next forward although nothing was seen since the last one: it has the same caller as
/// the first function, and either the module that ends a forward ran last, or its input is not yet computed on.
bool begins_pass(ThreadState& state, const CallPlace& place, const at::Tensor& input) {
  Pass& pass = state.pass;
  if (!place.in_root) return false;
  if (pass.in_code && place.caller != pass.caller) return true;
  if (!is_entry(pass, place.path)) return false;
  if (const ModuleEntry** final = final_of(pass, pass.attachment)) return *final == state.last;
  return input.defined() && input.grad_fn() == nullptr;
}

}  // namespace

const ModuleEntry* root_entry(const ThreadState& state, const WatchedModel* attachment) {
  for (const auto& root : state.table->roots) {
    if (root->model_id == attachment) return state.table->find(root->module);
  }
  return nullptr;
}

CallPlace place_of(ThreadState& state, const CallSite& site) {
  if (state.table->code.empty() || site.address == nullptr) return {};
  return state.places.find(site, state.table->code);
}

/// Follows attachments and detachments since the last call.
void refresh(ThreadState& state) {
  const auto before = Registry::instance().refresh(state.table, state.generation);
  if (before == nullptr) return;
  if (before->roots != state.table->roots) state.unregistered.forget();  // else only a listener came or went
  state.last = nullptr;
  state.pass = {};
  state.places.forget();
}

ThreadState& thread_state() {
  return ThreadOwn<ThreadState>::get();
}

void begin_outermost(ThreadState& state, const torch::nn::Module& module, const ModuleEntry& entry,
                     const CallSite& site) {
  Pass& pass = state.pass;
  const WatchedModel* attachment = attachment_of(entry);
  const CallPlace place = place_of(state, site);
  if (pass.attachment != attachment || (place.in_root && pass.in_code && place.caller != pass.caller)) {
    auto waiting = std::move(pass.waiting);
    end_pass();
    pass.waiting = std::move(waiting);
  }
  if (pass.first == &entry) note_final(state);
  if (pass.first == nullptr) pass.first = &entry;
  pass.attachment = state.last_model = attachment;
  pass.in_code = place.in_root;
  pass.caller = place.caller;
  if (pass.waiting.empty()) return;
  auto waiting = std::move(pass.waiting);
  const ModuleEntry* root = place.in_model ? root_entry(state, attachment) : nullptr;
  if (root == nullptr) return;
  state.last = root;
  state.last_training = module.is_training();
  state.occurrences.fill(0);
  for (const auto& each : waiting) tell_function(state, *each.kind, each.input, each.output, each.flags);
}

void loss_called(const at::Tensor& input, const at::Tensor& target, uint32_t flags) {
  ThreadState& state = thread_state();
  const ModuleEntry* root = root_entry(state, state.last_model);
  if (root == nullptr) return;
  for (const auto& point : root->points) {
    if (point->loss_input == nullptr || !point->listening() || point->model_id != state.last_model) continue;
    point->node->calls().loss.note();
    Stream& stream = *point->loss_input;
    send(stream, {&input}, event_flags(state.last_training) | flags, stream.wants_tensors(), {&input, &target}, {});
  }
}

void function_called(const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output, const CallSite& site,
                     uint32_t flags) {
  if (!output.defined()) return;
  const LoupeTime time;
  ThreadState& state = thread_state();
  if (state.depth > 0) {
    if (state.last != nullptr) tell_function(state, kind, input, output, flags);
    return;
  }
  refresh(state);
  const CallPlace place = place_of(state, site);
  Pass& pass = state.pass;
  if (state.last != nullptr) {
    const bool left = pass.in_code && !place.in_model;
    if (left) return end_pass();
    if (begins_pass(state, place, input)) end_pass();
  }
  if (state.last != nullptr) return tell_function(state, kind, input, output, flags);
  if (!place.in_model) return;
  if (pass.entries.size() < most_entries && !is_entry(pass, place.path)) pass.entries.push_back(place.path);
  const ModuleEntry* root = root_entry(state, place.attachment);
  if (root == nullptr || !only_functions(*root)) {
    if (pass.waiting.size() < most_waiting) {
      pass.waiting.push_back({&kind, input, output, flags});
    } else if (!std::exchange(pass.told_of_waiting, true)) {
      log(LOUPE_LOG_WARNING, "more than " + std::to_string(most_waiting) +
                                 " functions are called in a model before its first module; those in between "
                                 "are not shown");
    }
    return;
  }
  pass.attachment = place.attachment;
  pass.in_code = true;
  pass.caller = place.caller;
  state.last = root;
  state.last_training = is_training(*root, place.attachment);
  state.occurrences.fill(0);
  state.last_model = place.attachment;
  tell_function(state, kind, input, output, flags);
}

void note_step() {
  ++thread_state().steps;
  end_pass();
}

void end_pass() {
  ThreadState& state = thread_state();
  if (state.depth > 0) return;  // such a step is noticed at the start of the next forward
  note_final(state);
  state.last = nullptr;
  state.pass.first = nullptr;
  state.pass.attachment = nullptr;
  state.pass.waiting.clear();
}

}  // namespace loupe
