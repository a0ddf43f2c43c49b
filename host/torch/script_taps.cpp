#include "torch/script_taps.h"

#include <ATen/record_function.h>

#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/log.h"
#include "torch/forward_scope.h"
#include "torch/function_taps.h"
#include "torch/program_hooks.h"
#include "torch/script_plan.h"

namespace loupe {
namespace {

/// What is known of an operator by its name.
struct OperatorName {
  int number;
  bool is_view, is_in_place, is_dropout, is_clamp;
  const FunctionKind* kind;
};

/// The plans of one model, by the module and method that a trainer called.
struct Plans {
  std::weak_ptr<ScriptModel> model;
  std::unordered_map<const ScriptLayer*, std::unordered_map<std::string, std::shared_ptr<const ScriptPlan>>> methods;
};
struct AllPlans {
  std::mutex mutex;
  std::unordered_map<const ScriptModel*, Plans> by_model;
};
AllPlans& all_plans() {
  static auto* plans = new AllPlans();
  return *plans;
}

std::shared_ptr<const ScriptPlan> plan_of(const std::shared_ptr<ScriptModel>& model, ScriptLayer& layer,
                                          const std::string& method) {
  AllPlans& all = all_plans();
  const std::lock_guard lock(all.mutex);
  for (auto it = all.by_model.begin(); it != all.by_model.end();)
    it = it->second.model.expired() ? all.by_model.erase(it) : std::next(it);
  Plans& plans = all.by_model[model.get()];
  plans.model = model;
  auto& plan = plans.methods[&layer][method];
  if (plan == nullptr) plan = std::make_shared<ScriptPlan>(*model, layer, method);
  return plan;
}

/// One forward of a script on this thread.
struct Run {
  std::shared_ptr<ScriptModel> model;  // null while no attached model's script runs
  std::shared_ptr<const ScriptPlan> plan;
  std::shared_ptr<const ScriptElements> elements;
  ScriptLayer* root = nullptr;
  std::optional<ForwardScope> scope;  // the root's
  at::Tensor root_result;
  // A result that the next operator may compute on; and what it was computed from.
  const ScriptPlan::Result* waiting = nullptr;
  at::Tensor waiting_result, waiting_input;
  ScriptTrail trail;
  std::map<std::string, OperatorName, std::less<>> names;  // of this plan
  const ScriptPlan* names_of = nullptr;
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  int scripts = 0, begun_at = 0;
  // The operator that is on, and those that it calls.
  int depth = 0;
  const OperatorName* name = nullptr;
  ScriptPlace place;
  at::Tensor input;
  uint32_t flags = 0;
  bool activates = true;
};
Run& run() {
  thread_local Run run;
  return run;
}

const OperatorName& name_of(Run& run, const char* text) {
  if (run.names_of != run.plan.get()) {
    run.names.clear();
    run.names_of = run.plan.get();
  }
  const auto known = run.names.find(std::string_view(text));
  if (known != run.names.end()) return known->second;
  const std::string name = text;
  const FunctionKind* kind = kind_of_operator(name);
  const OperatorName seen = {run.plan->name_of(text),
                             is_view(name),
                             !name.empty() && name.back() == '_',
                             kind != nullptr && kind->family == LOUPE_FAMILY_DROPOUT,
                             name.compare(0, 11, "aten::clamp") == 0,
                             kind};
  return run.names.emplace(name, seen).first->second;
}

bool is_zero(const c10::IValue& value) {
  return (value.isInt() && value.toInt() == 0) || (value.isDouble() && value.toDouble() == 0);
}

/// What an operator is called on: whose tensors it reads, and the first tensor that is no layer's own.
void look_at_arguments(Run& run, c10::ArrayRef<const c10::IValue> arguments) {
  const ScriptLayer* owner = nullptr;
  bool is_first = true, counts = false;
  const auto look = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const ScriptLayer* found = run.elements->owner_of(tensor);
    if (owner == nullptr) owner = found;
    counts = counts || (is_first && run.elements->is_count(tensor));
    is_first = false;
    if (found == nullptr && !run.input.defined() && !run.name->is_in_place) run.input = tensor;
  };
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) look(argument.toTensor());
    if (argument.isTensorList()) {
      for (const at::Tensor& each : argument.toTensorVector()) look(each);
    }
  }
  run.place = counts ? ScriptPlace() : run.trail.next(run.name->is_view ? nullptr : owner, run.name->number);
  if (run.name->is_dropout && arguments.size() > 2 && arguments[1].isDouble() && arguments[2].isBool())
    run.flags = arguments[2].toBool() && arguments[1].toDouble() > 0 ? uint32_t{LOUPE_EVENT_DROPS} : 0U;
  if (run.name->is_clamp) run.activates = arguments.size() > 1 && is_zero(arguments[1]);
}

/// LibTorch writes a page on what a callback throws, and goes on.
template <class Call>
void guarded(Run& state, Call&& call) {
  const std::shared_ptr<ScriptModel> model = state.model;
  try {
    call();
  } catch (const std::exception& e) {
    const std::shared_ptr<ScriptModel> whose = model != nullptr ? model : state.model;
    if (whose != nullptr) return whose->keep(std::current_exception());
    log(LOUPE_LOG_ERROR, std::string("a TorchScript module is not seen: ") + e.what());
  }
}

void tell_layers(Run& state, const ScriptPlan::Result& known, const at::Tensor& input, const at::Tensor& result) {
  for (std::size_t i = 0; i < known.layers.size(); ++i) {
    ScriptLayer* layer = known.layers[i];
    if (layer == state.root) {
      state.root_result = result;
      continue;
    }
    ForwardScope scope(layer);
    TensorList inputs, outputs = {&result};
    if (i == 0 && input.defined()) inputs.push_back(&input);
    scope.enter_tensors(inputs);
    scope.leave_tensors(outputs);
  }
}

void end_waiting(Run& state, bool tells) {
  const ScriptPlan::Result* waiting = std::exchange(state.waiting, nullptr);
  if (waiting != nullptr && tells) tell_layers(state, *waiting, state.waiting_input, state.waiting_result);
  state.waiting_result.reset();
  state.waiting_input.reset();
}

const ScriptPlan::Result* known_result(const Run& state) {
  return state.name->number >= 0 ? state.plan->find(state.place) : nullptr;
}

/// Before the operator changes anything.
void settle_waiting(Run& state) {
  if (state.waiting == nullptr) return;
  const ScriptPlan::Result* next = known_result(state);
  const bool goes_on =
      next != nullptr && !next->layers.empty() && next->layers.front() == state.waiting->layers.front();
  end_waiting(state, !goes_on);
}

std::unique_ptr<at::ObserverContext> operator_starts(const at::RecordFunction& function) {
  Run& state = run();
  if (state.model == nullptr || state.depth++ > 0) return nullptr;
  state.name = &name_of(state, function.name());
  state.input.reset();
  state.flags = 0;
  state.activates = true;
  guarded(state, [&] {
    look_at_arguments(state, function.inputs());
    settle_waiting(state);
  });
  return nullptr;
}

void tell_result(Run& state, const at::Tensor& result) {
  const ScriptPlan::Result* known = known_result(state);
  const bool hidden = known != nullptr && known->is_hidden;
  if (state.name->kind != nullptr && !hidden && state.activates)
    function_called(*state.name->kind, state.input, result, {}, state.flags);
  if (known == nullptr || known->layers.empty()) return;
  if (!known->may_go_on) return tell_layers(state, *known, state.input, result);
  state.waiting = known;
  state.waiting_result = result;
  state.waiting_input = state.input;
}

void operator_ends(const at::RecordFunction& function, at::ObserverContext*) {
  Run& state = run();
  if (state.model == nullptr || state.depth == 0 || --state.depth > 0 || state.name == nullptr) return;
  // Some versions of LibTorch show all that lies on the interpreter's stack, the operator's own results last.
  const auto outputs = function.outputs();
  const std::size_t count = std::min(function.num_outputs(), outputs.size());
  if (count == 0) return;
  const c10::IValue& first = outputs[outputs.size() - count];
  if (first.isTensor() && first.toTensor().defined()) guarded(state, [&] { tell_result(state, first.toTensor()); });
  state.input.reset();
}

/// A script that runs inside of an attached model and is none itself.
void tell_of_unattached(const torch::jit::Module& script) {
  const ThreadState& state = thread_state();
  if (state.depth == 0) return;
  static std::mutex mutex;
  static std::unordered_set<std::string> told;
  const std::string type = short_type(script_type(script));
  const std::lock_guard lock(mutex);
  if (!told.insert(type).second) return;
  const bool is_found_by_itself = program_hooks.load(std::memory_order_acquire) != nullptr;
  log(LOUPE_LOG_WARNING, "the TorchScript module '" + type +
                             "' runs inside of an attached model and is not attached itself: nothing of it is seen; " +
                             (is_found_by_itself ? "only scripts are whose parameters an optimizer holds"
                                                 : "call inspector.attach(script, optimizer, \"name\") for it too"));
}

void begin(Run& state, const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  if (inputs.empty() || !inputs[0].isObject()) return;
  const auto object = inputs[0].toObject();
  if (!object->type()->is_module()) return;
  ScriptLayer* layer = nullptr;
  std::shared_ptr<ScriptModel> model = ScriptModel::find(object.get(), layer);
  const ProgramHooks* hooks = program_hooks.load(std::memory_order_acquire);
  if (model == nullptr && hooks != nullptr) {
    hooks->before_script(torch::jit::Module(object));
    model = ScriptModel::find(object.get(), layer);
  }
  if (active_attachments.load(std::memory_order_relaxed) == 0) return;
  if (model == nullptr) return tell_of_unattached(torch::jit::Module(object));
  state.plan = plan_of(model, *layer, function.name());
  state.elements = model->follow_script();
  state.root = layer;
  state.trail = ScriptTrail(state.plan->name_count());
  state.begun_at = state.scripts;
  state.depth = 0;
  state.name = nullptr;
  state.model = std::move(model);
  state.scope.emplace(layer);
  if (state.scope->watched()) {
    TensorList tensors;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i].isTensor() && inputs[i].toTensor().defined()) tensors.push_back(&inputs[i].toTensor());
    }
    state.scope->enter_tensors(tensors);
  }
  // On this thread alone, and only while the script runs.
  state.handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&operator_starts, &operator_ends)
                                                .needsInputs(true)
                                                .needsOutputs(true)
                                                .scopes({at::RecordScope::FUNCTION}));
}

void finish(Run& state) {
  if (state.handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(state.handle);
  state.handle = at::INVALID_CALLBACK_HANDLE;
  guarded(state, [&] { end_waiting(state, true); });
  if (state.scope.has_value() && state.root_result.defined()) {
    const TensorList outputs = {&state.root_result};
    guarded(state, [&] { state.scope->leave_tensors(outputs); });
  }
  state.scope.reset();
  state.root_result.reset();
  state.input.reset();
  state.model = nullptr;
  state.elements = nullptr;
}

std::unique_ptr<at::ObserverContext> script_starts(const at::RecordFunction& function) {
  Run& state = run();
  ++state.scripts;
  if (state.model == nullptr) guarded(state, [&] { begin(state, function); });
  return nullptr;
}

void script_ends(const at::RecordFunction&, at::ObserverContext*) {
  Run& state = run();
  if (state.model != nullptr && state.scripts == state.begun_at) finish(state);
  --state.scripts;
}

struct Listeners {
  std::mutex mutex;
  int count = 0;
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
};
Listeners& listeners() {
  static auto* all = new Listeners();
  return *all;
}

}  // namespace

void prepare_script(const std::shared_ptr<ScriptModel>& model) {
  judge_reach(*model, *plan_of(model, *model, "forward"));
}

ScriptListening::ScriptListening() {
  Listeners& all = listeners();
  const std::lock_guard lock(all.mutex);
  if (all.count++ > 0) return;
  all.handle = at::addGlobalCallback(at::RecordFunctionCallback(&script_starts, &script_ends)
                                         .needsInputs(true)
                                         .scopes({at::RecordScope::TORCHSCRIPT_FUNCTION}));
}

ScriptListening::~ScriptListening() {
  Listeners& all = listeners();
  const std::lock_guard lock(all.mutex);
  if (--all.count > 0) return;
  at::removeCallback(all.handle);
}

}  // namespace loupe
