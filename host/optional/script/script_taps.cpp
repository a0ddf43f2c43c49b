#include "script/script_taps.h"

#include <loupe/draft/abi/flags.h>

#include <ATen/record_function.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/cuda.h>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "core/log.h"
#include "core/threads.h"
#include "core/work.h"
#include "script/script_plan.h"
#include "timing/thread_callbacks.h"
#include "torch/model/registry.h"
#include "torch/taps/forward_scope.h"
#include "torch/taps/function_taps.h"

namespace torch::jit {
bool canFuseOnCPU();  // its header is missing in some packages
}

namespace loupe {

using torch::jit::Method;

namespace {

/// Properties of an operator, from its name.
struct OperatorName {
  int number;
  bool is_view, is_in_place, is_dropout, is_clamp;
  const FunctionKind* kind;
};

/// One forward of a script on this thread.
struct Run {
  std::shared_ptr<ScriptModel> model;  // null while no attached model's script runs
  std::shared_ptr<Planned> plan;
  std::shared_ptr<const ScriptElements> elements;
  ScriptLayer* root = nullptr;
  std::optional<ForwardScope> scope;  // the scope of the root
  // A result that the next operator may use, and its inputs.
  const ScriptPlan::Result* waiting = nullptr;
  at::Tensor waiting_result, waiting_input;
  std::vector<const ScriptPlan::Result*> shown;  // results so far, while they are compared with the first forward
  ScriptProgress progress;
  std::map<std::string, OperatorName, std::less<>> names;  // operators of this plan
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  std::exception_ptr thrown;  // thrown by a lens, to stop the trainer
  // The running operator, and those that it calls.
  int depth = 0;
  const OperatorName* name = nullptr;
  ScriptPlace place;
  at::Tensor input;
  uint32_t flags = 0;
  bool activates = true;
};
Run& run() {
  return ThreadOwn<Run>::get();
}

const OperatorName& name_of(Run& run, const char* text) {
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

/// Finds the layer whose tensors an operator reads, and the first tensor that belongs to no layer.
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
  run.place = counts ? ScriptPlace() : run.progress.next(run.name->is_view ? nullptr : owner, run.name->number);
  if (run.name->is_dropout && arguments.size() > 2 && arguments[1].isDouble() && arguments[2].isBool())
    run.flags = arguments[2].toBool() && arguments[1].toDouble() > 0 ? uint32_t{LOUPE_DRAFT_EVENT_DROPS} : 0U;
  if (run.name->is_clamp) run.activates = arguments.size() > 1 && is_zero(arguments[1]);
}

/// Keeps the exception of a callback, which LibTorch would log at length before it continues.
template <class Call>
void guarded(Run& state, Call&& call) {
  if (state.thrown != nullptr) return;
  try {
    call();
  } catch (...) {
    state.thrown = std::current_exception();
  }
}

/// Reports forwards of layers. They have run already, so the time of this call is Loupe's own.
void tell_layers(Run& state, const ScriptPlan::Result& known, const at::Tensor& input, const at::Tensor& result) {
  in_loupe_time([&] {
    for (std::size_t i = 0; i < known.layers.size(); ++i) {
      ScriptLayer* layer = known.layers[i];
      if (layer == state.root) continue;  // its result is the result of the call
      ForwardScope scope(layer);
      TensorList inputs, outputs = {&result};
      if (i == 0 && input.defined()) inputs.push_back(&input);
      scope.enter_tensors(inputs);
      scope.leave_tensors(outputs);
    }
  });
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

/// Call it before the operator changes anything.
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
  if (known == nullptr) return;
  const bool is_shown = !known->layers.empty() || (state.name->kind != nullptr && !hidden && state.activates);
  if (is_shown && state.plan->looks_left.load(std::memory_order_relaxed) > 0) state.shown.push_back(known);
  if (known->layers.empty()) return;
  if (!known->may_go_on) return tell_layers(state, *known, state.input, result);
  state.waiting = known;
  state.waiting_result = result;
  state.waiting_input = state.input;
}

void operator_ends(const at::RecordFunction& function, at::ObserverContext*) {
  Run& state = run();
  if (state.model == nullptr || state.depth == 0) return;
  // Operators called by Loupe itself here are not the script's.
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{state.depth};
  if (state.depth > 1 || state.name == nullptr) return;
  // Some versions of LibTorch pass the whole stack of the interpreter, with the operator's own results last.
  const auto outputs = function.outputs();
  const std::size_t count = std::min(function.num_outputs(), outputs.size());
  if (count == 0) return;
  const c10::IValue& first = outputs[outputs.size() - count];
  if (first.isTensor() && first.toTensor().defined()) guarded(state, [&] { tell_result(state, first.toTensor()); });
  state.input.reset();
}

/// Warns of a script that runs inside an attached model but is not attached.
void tell_of_unattached(const torch::jit::Module& script) {
  const ThreadState& state = thread_state();
  if (state.depth == 0) return;
  static auto& mutex = *new ProcessMutex();
  static auto& told = *new std::unordered_set<std::string>();  // scripts may run during static destruction
  const std::string type = short_type(script_type(script));
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(type).second) return;
  }
  const ProgramHooks* hooks = hooks_of_program();
  const bool is_found_by_itself = hooks != nullptr && hooks->before_script != nullptr;
  log(LOUPE_LOG_WARNING, "the TorchScript module '" + type +
                             "' runs inside of an attached model and is not attached itself: nothing of it is seen; " +
                             (is_found_by_itself ? "only scripts with parameters of an optimizer are"
                                                 : "call inspector.attach(script, optimizer, \"name\") for it too"));
}

/// @param inputs  without the module itself
void begin(Run& state, const torch::jit::Module& script, const std::string& method, const TensorList& inputs) {
  ScriptLayer* layer = nullptr;
  std::shared_ptr<ScriptModel> model = ScriptModel::find(script._ivalue().get(), layer);
  const ProgramHooks* hooks = hooks_of_program();
  if (model == nullptr && hooks != nullptr && hooks->before_script != nullptr) {
    hooks->before_script(script);
    model = ScriptModel::find(script._ivalue().get(), layer);
  }
  if (model == nullptr) return tell_of_unattached(script);
  const auto plan = plan_of(model, *layer, method);
  if (plan != state.plan) state.names.clear();
  state.plan = plan;
  state.elements = model->follow_script();
  state.root = layer;
  state.progress = ScriptProgress(state.plan->name_count());
  state.depth = 0;
  state.name = nullptr;
  state.thrown = nullptr;
  state.shown.clear();
  state.model = std::move(model);
  state.scope.emplace(layer);
  state.scope->enter_tensors(inputs);
  if (!can_add_thread_callbacks()) return;
  state.handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&operator_starts, &operator_ends)
                                                .needsInputs(true)
                                                .needsOutputs(true)
                                                .scopes({at::RecordScope::FUNCTION}));
}

/// Warns of results that are missing because the interpreter computes several modules in one piece.
void tell_of_fusion(Run& state) {
  Planned& plan = *state.plan;
  if (plan.looks_left.load(std::memory_order_relaxed) <= 0 || !state.scope->watched()) return;
  constexpr int enough = 3;
  const std::lock_guard lock(plan.mutex);
  plan.looks_left.fetch_sub(1);
  const std::size_t mode = state.root->is_training() ? 1 : 0;
  // Do not compare how often each was seen: a loop may run fewer times.
  std::sort(state.shown.begin(), state.shown.end());
  state.shown.erase(std::unique(state.shown.begin(), state.shown.end()), state.shown.end());
  auto& first = plan.at_first[mode];
  if (first.empty()) {
    first = state.shown;
    return;
  }
  std::vector<const ScriptPlan::Result*> lacking;
  std::set_difference(first.begin(), first.end(), state.shown.begin(), state.shown.end(), std::back_inserter(lacking));
  plan.lacking[mode] = lacking.empty() ? 0 : plan.lacking[mode] + 1;
  if (plan.lacking[mode] < enough) return;
  plan.looks_left.store(0);
  std::string names;
  for (const ScriptPlan::Result* each : lacking) names += (names.empty() ? "" : ", ") + plan.words(*each);
  const bool may_fuse =
      torch::jit::tensorExprFuserEnabled() && (torch::jit::canFuseOnCPU() || torch::cuda::is_available());
  log(LOUPE_LOG_WARNING,
      "results of the TorchScript '" + short_type(state.root->name()) +
          "' are no longer visible after the first forward (" + names + "): " +
          (may_fuse ? "LibTorch has fused them with others, unless the script takes another branch; call "
                      "torch::jit::setTensorExprFuserEnabled(false) before the first forward to keep them apart"
                    : "LibTorch has found that they are not needed, or the script takes another branch"));
}

void collect_from(TensorList& list, const c10::IValue& value) {
  if (value.isTensor()) return collect(list, value.toTensor());
  if (!value.isTuple()) return;
  for (const c10::IValue& each : value.toTupleRef().elements()) collect_from(list, each);
}

/// Ends a forward, with or without an exception.
class Ending {
 public:
  explicit Ending(Run& state) : state_(state) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    stop_listening();
    state_.scope.reset();
    state_.waiting = nullptr;
    state_.waiting_result.reset();
    state_.waiting_input.reset();
    state_.input.reset();
    state_.thrown = nullptr;
    state_.elements = nullptr;
    state_.model = nullptr;
  }
  void with(const c10::IValue& result) {
    stop_listening();
    guarded(state_, [&] {
      end_waiting(state_, true);
      tell_of_fusion(state_);
    });
    if (state_.thrown != nullptr) std::rethrow_exception(std::exchange(state_.thrown, nullptr));
    TensorList outputs;
    collect_from(outputs, result);
    state_.scope->leave_tensors(outputs);
  }

 private:
  void stop_listening() {
    if (state_.handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(state_.handle);
    state_.handle = at::INVALID_CALLBACK_HANDLE;
  }
  Run& state_;
};

c10::IValue call(const Method* method, std::vector<c10::IValue> stack, const ScriptKwargs& more) {
  Run& state = run();
  if (state.model != nullptr) return real_call(method, std::move(stack), more);
  Ending ending(state);
  {
    TensorList inputs;
    for (const c10::IValue& each : stack) collect_from(inputs, each);
    for (const auto& each : more) collect_from(inputs, each.second);
    begin(state, method->owner(), method->name(), inputs);
  }
  c10::IValue result = real_call(method, std::move(stack), more);
  if (state.model != nullptr) ending.with(result);
  return result;
}

void run_method(Method* method, std::vector<c10::IValue>& stack) {
  Run& state = run();
  if (state.model != nullptr) return real_run(method, stack);
  Ending ending(state);
  {
    TensorList inputs;
    for (const c10::IValue& each : stack) collect_from(inputs, each);
    begin(state, method->owner(), method->name(), inputs);
  }
  real_run(method, stack);
  if (state.model != nullptr && !stack.empty()) ending.with(stack.back());
}

std::shared_ptr<torch::nn::Module> model_of(const torch::jit::Module& script) {
  return ScriptModel::of(script);
}

void prepare(torch::nn::Module& root) {
  const auto model = std::static_pointer_cast<ScriptModel>(root.shared_from_this());
  judge_visibility(*model, *plan_of(model, *model, "forward"));
  model->visibility.tapped = true;
  if (reaches_script_calls()) return;
  for (const auto& module : model->modules()) {
    auto& layer = dynamic_cast<ScriptLayer&>(*module);
    layer.visibility.tapped = layer.visibility.container = false;
    layer.visibility.reason =
        "no call of a TorchScript method can be redirected here (is LibTorch linked statically?); its parameters, "
        "gradients and updates are seen";
  }
}

}  // namespace

const ScriptTable script_table = {&model_of, &prepare, &call, &run_method};

}  // namespace loupe
