#include "torch/taps/timed_step.h"

#include <ATen/record_function.h>
#include <torch/optim/optimizer.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "core/threads.h"
#include "timing/step_timer.h"
#include "torch/taps/forward_pass.h"
#include "torch/taps/kept_memory.h"
#include "torch/taps/optimizer_states.h"
#include "torch/tensor/device_clock.h"

namespace loupe {
namespace {

/// The thread whose step is timed, as LibTorch counts them.
std::atomic<uint64_t> timed_thread{0};

/// Of the step that is timed. The backward pass of a device's begins on another thread than the forward's.
struct StepMemory {
  std::mutex mutex;
  KeptMemory kept;
};
StepMemory& step_memory() {
  static auto* memory = new StepMemory();  // taps may outlive static destruction
  return *memory;
}

/// The backward pass is on: what the forward has left is what is kept for it.
void note_kept(StepTimer& timer) {
  if (!timer.measures_memory() || timer.has_kept()) return;
  const LoupeTime time;
  const std::lock_guard lock(step_memory().mutex);
  if (!timer.has_kept()) timer.set_kept(step_memory().kept.take());
}

std::unique_ptr<at::ObserverContext> node_starts(const at::RecordFunction& node) {
  if (!StepTimer::is_on()) {
    thread_state().listens = true;  // still, and the next forward ends that
    return nullptr;
  }
  StepTimer& timer = StepTimer::instance();
  note_kept(timer);
  const bool is_of_step = node.forwardThreadId() == timed_thread.load(std::memory_order_relaxed);
  const int64_t number = is_of_step ? node.seqNr() : -1;
  if (StepTimer::here() != nullptr) {
    timer.enter_node(number, node.name());
  } else {
    timer.enter_node_elsewhere(number, node.name());
  }
  return nullptr;
}

void node_ends(const at::RecordFunction&, at::ObserverContext*) {
  if (StepTimer* timer = StepTimer::here()) {
    timer->leave_node();
  } else {
    StepTimer::instance().leave_node_elsewhere();
  }
}

struct Operation : at::ObserverContext {
  KeptMemory::Inputs inputs;
};

/// Null where nobody wants to know of it: what Loupe itself computes, and the backward pass.
std::unique_ptr<at::ObserverContext> operation_starts(const at::RecordFunction& operation) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr || timer->has_kept() || timer->is_in_loupe()) return nullptr;
  const LoupeTime time;
  auto started = std::make_unique<Operation>();
  started->inputs = KeptMemory::inputs_of(operation);
  return started;
}

void operation_ends(const at::RecordFunction& operation, at::ObserverContext* started) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr || started == nullptr) return;
  const LoupeTime time;
  const std::lock_guard lock(step_memory().mutex);
  step_memory().kept.note(operation, static_cast<const Operation*>(started)->inputs, timer->open_layer());
}

/// Whether this thread calls it, and autograd's own threads, which take that over. Autograd runs each node with what
/// the thread listened to at its forward, and afterwards restores what it listened to before: what a step within the
/// backward pass sets is lost, and so nothing is remembered here.
void listen(at::RecordFunctionCallback callback, bool on) {
  at::CallbackHandle found = at::INVALID_CALLBACK_HANDLE;
  for (const auto& each : at::get_record_function_tls_().sorted_tls_callbacks_) {
    if (each.callback_.start() == callback.start()) found = each.handle_;
  }
  const bool is_on = found != at::INVALID_CALLBACK_HANDLE;
  if (on && !is_on) at::addThreadLocalCallback(std::move(callback));
  if (!on && is_on) at::removeCallback(found);
}

void listen_to_nodes(bool on) {
  listen(at::RecordFunctionCallback(&node_starts, &node_ends).scopes({at::RecordScope::BACKWARD_FUNCTION}), on);
}
void listen_to_operations(bool on) {
  listen(at::RecordFunctionCallback(&operation_starts, &operation_ends)
             .needsInputs(true)
             .needsOutputs(true)
             .scopes({at::RecordScope::FUNCTION}),
         on);
}

constinit thread_local bool is_thread_ending = false;

struct EndOfThread {
  EndOfThread() { at::get_record_function_tls_(); }  // is made before this, and so destroyed after it
  ~EndOfThread() {
    is_thread_ending = true;
    listen_to_nodes(false);
    listen_to_operations(false);
  }
};

/// Of the first parameter that is on one; null where all are the processor's, or there is no clock of it.
std::unique_ptr<DeviceClock> clock_of(const torch::optim::Optimizer* optimizer) {
  if (optimizer == nullptr) return nullptr;
  for (const auto& group : optimizer->param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (parameter.defined() && !parameter.device().is_cpu()) return make_device_clock(parameter.device());
    }
  }
  return nullptr;
}

}  // namespace

bool can_add_thread_callbacks() {
  if (is_thread_ending) return false;
  ThreadOwn<EndOfThread>::get();
  return true;
}

void follow_timed_step() {
  if (!can_add_thread_callbacks()) return;
  const StepTimer* timer = StepTimer::here();
  thread_state().listens = timer != nullptr;
  listen_to_nodes(timer != nullptr);
  listen_to_operations(timer != nullptr && timer->measures_memory());
}

void step_is_over(const torch::optim::Optimizer* optimizer) {
  StepTimer& timer = StepTimer::instance();
  if (StepTimer::here() != nullptr && timer.measures_memory() && optimizer != nullptr)
    timer.add_optimizer_state(state_bytes(*optimizer));
  if (timer.step_over([optimizer] { return clock_of(optimizer); })) {
    thread_local uint64_t begun = 0;  // the step that this thread heard of last
    const uint64_t step = timer.steps_begun();
    if (std::exchange(begun, step) == step) return;  // it is still on
    timed_thread = at::RecordFunction::currentThreadId();
    const std::lock_guard lock(step_memory().mutex);
    step_memory().kept.take();
  }
  if (StepTimer::here() != nullptr || thread_state().listens) follow_timed_step();
}

}  // namespace loupe
