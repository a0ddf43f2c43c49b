#include "torch/forward_scope.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <list>
#include <utility>

#include "core/log.h"
#include "torch/attachment.h"
#include "torch/gradient_taps.h"
#include "torch/norm_taps.h"
#include "torch/program_hooks.h"
#include "torch/tensor_view.h"
#include "torch/unreadable.h"

namespace loupe {
namespace {

constexpr std::size_t most_waiting = 16;

uint32_t event_flags(bool training) {
  uint32_t flags = training ? uint32_t{LOUPE_EVENT_TRAINING} : 0U;
  if (at::GradMode::is_enabled()) flags |= LOUPE_EVENT_GRAD_ENABLED;
  return flags;
}

/// Views of the tensors of one forward, made once somebody reads them.
class LentTensors : public ForwardTensors {
 public:
  /// @param known  a view of `shown` that is there already
  LentTensors(const TensorList& inputs, const TensorList& outputs, const ModuleNode& module, const at::Tensor& shown,
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
  // Nearly all forwards have few tensors, for which nothing is to be allocated.
  boost::container::static_vector<TorchTensorView, 8> few_;
  std::list<TorchTensorView> more_;
  Pointers input_views_, output_views_;
};

/// The event of one tensor of `main`, that of the stream's index.
void dispatch(Stream& stream, const TensorList& main, uint32_t flags, bool wants_tensors, const TensorList& inputs,
              const TensorList& outputs) {
  const uint32_t index = stream.index();
  if (!stream.awake()) return;
  if (main.size() <= index) return index > 0 ? stream.lacks() : void();
  const TorchTensorView view(*main[index]);
  if (!view.readable()) return tell_unreadable(*main[index], stream);
  if (!wants_tensors) return stream.dispatch(view.get(), flags);
  LentTensors tensors(inputs, outputs, stream.module(), *main[index], view);
  stream.dispatch(view.get(), flags, &tensors);
}

void dispatch_attributes(const std::vector<AttributeTap>& attributes, uint32_t flags) {
  for (const AttributeTap& attribute : attributes) {
    if (!attribute.stream->awake()) continue;
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
    if (view.readable()) {
      attribute.stream->dispatch(view.get(), flags);
    } else {
      tell_unreadable(value, *attribute.stream);
    }
  }
}

/// A function's own point after one module of one model; made when it is first seen.
std::shared_ptr<FunctionPoint> function_point(TapPoint& after, const FunctionKind& kind, std::size_t occurrence) {
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

void watch_gradient_of(const TensorList& main, const ResultPoint& point, Stream& stream, uint32_t flags) {
  if (stream.index() >= main.size()) return stream.lacks();
  watch_gradient(*main[stream.index()], point, stream, flags);
}

/// The streams of inputs after the first, and of their gradients.
void enter_further(const TapPoint& point, uint32_t flags, const TensorList& inputs) {
  for (Stream* stream : point.further) {
    if (stream->tap() == LOUPE_TAP_INPUT) dispatch(*stream, inputs, flags, stream->wants_tensors(), inputs, {});
    if (stream->tap() == LOUPE_TAP_INPUT_GRADIENT) watch_gradient_of(inputs, point, *stream, flags);
  }
}

/// What is seen of a module's forward as it begins.
void enter_streams(const TapPoint& point, uint32_t flags, const TensorList& inputs) {
  if (!point.attributes_before.empty()) dispatch_attributes(point.attributes_before, flags);
  if (point.before != nullptr) dispatch(*point.before, inputs, flags, point.before->wants_tensors(), inputs, {});
  if (point.input != nullptr) dispatch(*point.input, inputs, flags, point.input->wants_tensors(), inputs, {});
  if (point.input_gradient != nullptr && !inputs.empty())
    watch_gradient(*inputs[0], point, *point.input_gradient, flags);
  if (!point.further.empty()) enter_further(point, flags, inputs);
}

/// The same of outputs.
void leave_further(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  for (Stream* stream : point.further) {
    if (stream->tap() == LOUPE_TAP_FORWARD) dispatch(*stream, outputs, flags, point.wants_tensors, inputs, outputs);
    if (stream->tap() == LOUPE_TAP_OUTPUT_GRADIENT) watch_gradient_of(outputs, point, *stream, flags);
  }
}

void show_result(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  if (point.is_awake()) dispatch(*point.forward, outputs, flags, point.reads_tensors(), inputs, outputs);
  if (point.is_simple) return;
  if (point.output_gradient != nullptr && !outputs.empty())
    watch_gradient(*outputs[0], point, *point.output_gradient, flags);
  if (!point.further.empty()) leave_further(point, flags, inputs, outputs);
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

/// The first of those who watch; a module is seldom part of two models.
const Attachment* attachment_of(const ModuleEntry& entry) {
  for (const auto& point : entry.points) {
    if (point->attachment_id != nullptr) return point->attachment_id;
  }
  return nullptr;
}

/// Whether everybody who watches has attached just this module: what comes after it is none of theirs.
bool is_only_root(const ModuleEntry& entry) {
  return std::all_of(entry.points.begin(), entry.points.end(),
                     [](const auto& point) { return point->listener != nullptr || point->is_root; });
}

bool only_functions(const ModuleEntry& root) {
  return std::any_of(root.points.begin(), root.points.end(), [](const auto& point) { return point->only_functions; });
}

const ModuleEntry* root_entry(const ThreadState& state, const Attachment* attachment) {
  for (const auto& root : state.table->roots) {
    if (root->attachment_id == attachment) return state.table->find(root->module);
  }
  return nullptr;
}

CallPlace place_of(ThreadState& state, const CallSite& site) {
  if (state.table->code.empty() || site.address == nullptr) return {};
  return state.places.find(site, state.table->code);
}

const ModuleEntry** final_of(Pass& pass, const Attachment* attachment) {
  for (auto& [whose, entry] : pass.final) {
    if (whose == attachment) return &entry;
  }
  return nullptr;
}

/// The module that ran last was the last of its pass.
void note_final(ThreadState& state) {
  Pass& pass = state.pass;
  if (pass.attachment == nullptr || state.last == nullptr) return;
  if (const ModuleEntry** known = final_of(pass, pass.attachment)) {
    *known = state.last;
  } else {
    pass.final.push_back({pass.attachment, state.last});
  }
}

void note_entry(Pass& pass, std::uint64_t path) {
  const auto end = pass.entries.begin() + static_cast<std::ptrdiff_t>(pass.entry_count);
  if (pass.entry_count < pass.entries.size() && std::find(pass.entries.begin(), end, path) == end)
    pass.entries[pass.entry_count++] = path;
}

/// Whether a function begins the next forward though nothing was seen since the last one: it comes from where the first
/// function came from, and either the module that ends a forward ran last, or nothing was computed on its input yet.
bool begins_pass(ThreadState& state, const CallPlace& place, const at::Tensor& input) {
  Pass& pass = state.pass;
  if (!place.in_root) return false;
  if (pass.in_code && place.caller != pass.caller) return true;
  const auto end = pass.entries.begin() + static_cast<std::ptrdiff_t>(pass.entry_count);
  if (std::find(pass.entries.begin(), end, place.path) == end) return false;
  if (const ModuleEntry** final = final_of(pass, pass.attachment)) return *final == state.last;
  return input.defined() && input.grad_fn() == nullptr;
}

/// @param model  the model inside of which it runs
void tell_of_untrained(const ThreadState& state, const torch::nn::Module& module, const Attachment* model) {
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
      if (!is_registered) attachment->add_unregistered(module, name);
    }
  }
  if (is_registered) {
    log(LOUPE_LOG_WARNING, "a " + module.name() + " that runs" + after +
                               " gets gradients, but no step of the optimizer has changed it: the model has registered "
                               "it, but the optimizer does not hold its parameters, as where a module is put in "
                               "later; make the optimizer anew, or call its add_param_group");
    return;
  }
  log(LOUPE_LOG_WARNING, "a " + module.name() + " that runs" + after +
                             " gets gradients, but no step of the optimizer has changed it: no module has registered "
                             "it, so it is never trained; call register_module for it");
}

/// Takes what was attached or detached since.
void refresh(ThreadState& state) {
  if (!Registry::instance().refresh(state.table, state.generation)) return;
  state.unregistered.forget();
  state.last = nullptr;
  state.pass = {};
  state.places.forget();
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

ForwardScope::ForwardScope(torch::nn::Module* module, const CallSite& site)
    : module_(module), site_(site), outer_(nullptr) {
  ThreadState& state = thread_state();
  if (state.pending_norm != nullptr) close_stale_norm();
  if (state.depth == 0) {
    if (const ProgramHooks* hooks = program_hooks.load(std::memory_order_acquire)) hooks->before_forward(*module);
    refresh(state);
  }
  entry_ = state.table->find(module);
  outer_ = state.scope;
  if (state.depth == 0 && entry_ != nullptr) begin_outermost();
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

/// A module of an attached model that no other module's tap surrounds.
void ForwardScope::begin_outermost() {
  ThreadState& state = thread_state();
  Pass& pass = state.pass;
  const Attachment* attachment = attachment_of(*entry_);
  const CallPlace place = place_of(state, site_);
  if (pass.attachment != attachment || (place.in_root && pass.in_code && place.caller != pass.caller)) {
    auto waiting = std::move(pass.waiting);
    end_pass();
    pass.waiting = std::move(waiting);
  }
  if (pass.first == entry_) note_final(state);
  if (pass.first == nullptr) pass.first = entry_;
  pass.attachment = state.last_model = attachment;
  pass.in_code = place.in_root;
  pass.caller = place.caller;
  if (pass.waiting.empty()) return;
  auto waiting = std::move(pass.waiting);
  const ModuleEntry* root = place.in_model ? root_entry(state, attachment) : nullptr;
  if (root == nullptr) return;
  state.last = root;
  state.last_training = module_->is_training();
  state.occurrences.fill(0);
  for (const auto& each : waiting) tell_function(state, *each.kind, each.input, each.output, each.flags);
}

/// A module that no attached model has registered: the trainer's, another model's, or one that was forgotten.
void ForwardScope::enter_unregistered() {
  ThreadState& state = thread_state();
  UnregisteredModule& known = state.unregistered.find(*module_);
  const CallPlace place = state.depth > 0 ? CallPlace() : place_of(state, site_);
  const bool inside = state.depth > 0 || place.in_root;
  if (inside && known.has_parameters && known.is_never_trained(*module_, state.steps))
    tell_of_untrained(state, *module_, place.attachment);
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
    const bool by_one = point->before != nullptr || point->input != nullptr || point->input_gradient != nullptr;
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
    if ((point->ran.load(std::memory_order_relaxed) & how) != how) point->ran.fetch_or(how, std::memory_order_relaxed);
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
    if (!point->is_simple && !point->attributes_after.empty()) dispatch_attributes(point->attributes_after, flags);
    show_result(*point, flags, inputs, outputs);
  }
}

void cross_entropy_called(const at::Tensor& scores) {
  ThreadState& state = thread_state();
  if (state.last_model == nullptr || !scores.defined()) return;
  const ModuleEntry* root = root_entry(state, state.last_model);
  if (root == nullptr) return;
  for (const auto& point : root->points) {
    if (point->loss_input == nullptr || !point->listening() || point->attachment_id != state.last_model) continue;
    dispatch(*point->loss_input, {&scores}, event_flags(state.last_training), false, {}, {});
  }
}

void function_called(const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output, const CallSite& site,
                     uint32_t flags) {
  if (!output.defined()) return;
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
  note_entry(pass, place.path);
  const ModuleEntry* root = root_entry(state, place.attachment);
  if (root == nullptr || !only_functions(*root)) {
    if (pass.waiting.size() < most_waiting) {
      pass.waiting.push_back({&kind, input, output, flags});
    } else if (!std::exchange(pass.told_of_waiting, true)) {
      log(LOUPE_LOG_WARNING, "more than " + std::to_string(most_waiting) +
                                 " functions are called in a model before its first module; of those in between, "
                                 "none is shown");
    }
    return;
  }
  pass.attachment = place.attachment;
  pass.in_code = true;
  pass.caller = place.caller;
  state.last = root;
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
  if (state.depth > 0) return;  // a step that is noticed at the start of the next forward
  note_final(state);
  state.last = nullptr;
  state.pass.first = nullptr;
  state.pass.attachment = nullptr;
  state.pass.waiting.clear();
}

}  // namespace loupe
