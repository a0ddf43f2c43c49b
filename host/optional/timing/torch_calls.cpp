#include "timing/torch_calls.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/Event.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/SmallVector.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "core/threads.h"
#include "core/work.h"
#include "services/kept_states.h"
#include "timing/device_clock.h"
#include "timing/step_timer.h"
#include "timing/thread_callbacks.h"
#include "torch/taps/forward_pass.h"

namespace loupe {
namespace {

/// Calls `call` with the memory of each tensor in a value.
template <class Call>
void each_storage(const c10::IValue& value, const Call& call) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensor.has_storage()) call(tensor.storage());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined() && tensor.has_storage()) call(tensor.storage());
    }
  }
}

/// The tensors that the operators of one forward pass create, by layer. One thread.
class KeptMemory {
 public:
  /// The memory of an operator's inputs.
  using Inputs = c10::SmallVector<const c10::StorageImpl*, 6>;
  /// Reads them when it starts, the only time when that is possible.
  static Inputs inputs_of(const at::RecordFunction& operation) {
    Inputs inputs;
    for (const c10::IValue& input : operation.inputs())
      each_storage(input, [&](const c10::Storage& storage) { inputs.push_back(storage.unsafeGetStorageImpl()); });
    return inputs;
  }
  /// An operator ran in a layer, or in none (-1). Results that share memory with an input are not new.
  void note(const at::RecordFunction& operation, const Inputs& inputs, int layer) {
    // Some versions of LibTorch pass the whole stack of the interpreter, with the operator's own results last.
    const auto& all = operation.outputs();
    const std::size_t count = std::min(operation.num_outputs(), all.size());
    for (std::size_t i = all.size() - count; i < all.size(); ++i) {
      each_storage(all[i], [&](const c10::Storage& storage) {
        const c10::StorageImpl* memory = storage.unsafeGetStorageImpl();
        if (std::find(inputs.begin(), inputs.end(), memory) != inputs.end()) return;
        const auto known = results_.find(memory);
        if (known != results_.end() && !known->second.storage.expired()) return;
        results_.insert_or_assign(memory, Result{storage.getWeakStorageImpl(), layer});
      });
    }
  }
  /// Bytes that are still held: by layer -1, and by each of the others. Starts counting again.
  std::vector<double> take() {
    std::vector<double> bytes(1, 0);
    for (const auto& [memory, result] : results_) {
      const auto alive = result.storage.lock();
      if (alive == nullptr) continue;
      const auto place = static_cast<std::size_t>(result.layer + 1);
      if (bytes.size() <= place) bytes.resize(place + 1, 0);
      bytes[place] += static_cast<double>(alive->nbytes());
    }
    results_.clear();
    return bytes;
  }

 private:
  struct Result {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int layer;
  };
  std::unordered_map<const c10::StorageImpl*, Result> results_;
};

template <class Device>
constexpr bool tells_captures = requires(const Device& device, const c10::Stream& stream) {
  device.isStreamCapturing(stream);
};

/// A clock of a device's current streams, made of its events.
template <class Event, class Device>
class EventClock : public DeviceClock {
 public:
  explicit EventClock(c10::Device device) : place_(device), device_(device.type()) {}

  void mark() override {
    if (failed_) return;
    try {
      const c10::Stream stream = device_.getStream(place_);
      failed_ = device_.isStreamCapturing(stream);
      // Events made with PyTorch's default flag record no time.
      if (!failed_) events_.emplace_back(place_.type(), c10::EventFlag::BACKEND_DEFAULT).record(stream);
    } catch (const std::exception&) {
      failed_ = true;
    }
  }
  bool is_current() const override {
    try {
      return device_.getDevice() == place_;
    } catch (const std::exception&) {
      return false;
    }
  }
  State state() override {
    if (failed_) return State::failed;
    try {
      if (device_.isStreamCapturing(device_.getStream(place_))) return State::pending;
      for (; reached_ < events_.size(); ++reached_) {
        if (!events_[reached_].query()) return State::pending;
      }
      return State::reached;
    } catch (const std::exception&) {
      failed_ = true;
      return State::failed;
    }
  }
  double seconds(std::size_t mark) override { return events_.front().elapsedTime(events_.at(mark)) / 1e3; }

 private:
  const c10::Device place_;
  const Device device_;
  std::deque<Event> events_;
  std::size_t reached_ = 0;
  bool failed_ = false;
};

/// Null if there is no clock: for the processor, and for versions of LibTorch that do not report whether a stream is
/// being captured, as a query would end the program's capture of a graph.
template <class Event = c10::Event, class Device = c10::impl::VirtualGuardImpl>
std::unique_ptr<DeviceClock> make_device_clock(c10::Device device) {
  if constexpr (tells_captures<Device>) {
    try {
      if (!device.is_cpu()) return std::make_unique<EventClock<Event, Device>>(device);
    } catch (const std::exception&) {  // this device has no events
    }
  }
  return nullptr;
}

/// The thread whose step is timed, as LibTorch counts them.
std::atomic<uint64_t> timed_thread{0};

/// The calls of the timed step. A device's backward pass begins on a different thread than its forward.
struct StepMemory {
  ProcessMutex mutex{LockRank::registry};  // held while the timer takes its own
  KeptMemory kept;
};
StepMemory& step_memory() {
  static auto* memory = new StepMemory();  // taps may outlive static destruction
  return *memory;
}

/// When the backward pass begins, all memory that the forward left counts as kept for it.
void note_kept(StepTimer& timer) {
  if (!timer.measures_memory() || timer.has_kept()) return;
  in_loupe_time([&] {
    const std::lock_guard lock(step_memory().mutex);
    if (!timer.has_kept()) timer.set_kept(step_memory().kept.take());
  });
}

std::unique_ptr<at::ObserverContext> node_starts(const at::RecordFunction& node) {
  if (!StepTimer::is_on()) {
    thread_state().listens = true;  // this thread still listens, until the next forward
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

/// Returns null for Loupe's own operators and those of the backward pass.
std::unique_ptr<at::ObserverContext> operation_starts(const at::RecordFunction& operation) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr || timer->has_kept() || timer->is_in_loupe()) return nullptr;
  auto started = std::make_unique<Operation>();
  in_loupe_time([&] { started->inputs = KeptMemory::inputs_of(operation); });
  return started;
}

void operation_ends(const at::RecordFunction& operation, at::ObserverContext* started) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr || started == nullptr) return;
  in_loupe_time([&] {
    const std::lock_guard lock(step_memory().mutex);
    step_memory().kept.note(operation, static_cast<const Operation*>(started)->inputs, timer->open_layer());
  });
}

/// Sets whether this thread calls `callback`; autograd's own threads take that over. Autograd runs each node with the
/// callbacks of its forward, and restores the former ones afterwards: a change by a step within the backward pass is
/// lost, and so nothing is remembered here.
void listen(at::RecordFunctionCallback callback, bool on) {
  at::CallbackHandle found = at::INVALID_CALLBACK_HANDLE;
  for (const auto& each : at::get_record_function_tls_().sorted_tls_callbacks_) {
    if (each.callback_.start() == callback.start()) found = each.handle_;
  }
  const bool is_on = found != at::INVALID_CALLBACK_HANDLE;
  if (on && !is_on) at::addThreadLocalCallback(callback);
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

struct EndOfThread {
  EndOfThread() { at::get_record_function_tls_(); }  // is made before this, and so destroyed after it
  ~EndOfThread() {
    listen_to_nodes(false);
    listen_to_operations(false);
  }
};

/// Bytes of the tensors that a LibTorch optimizer keeps; unknown for other types.
double state_bytes(const torch::optim::Optimizer& optimizer) {
  double sum = 0;
  for (const auto& [parameter, state] : optimizer.state()) {
    if (state == nullptr) continue;
    each_state(*state, [&](const std::string&, const at::Tensor& tensor) {
      sum += static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size());
    });
  }
  return sum;
}

/// The clock of the first parameter's device that is not the processor; null if there is none.
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

void begin_pass() {
  if (!can_add_thread_callbacks()) return;
  ThreadOwn<EndOfThread>::get();
  const StepTimer* timer = StepTimer::here();
  thread_state().listens = timer != nullptr;
  listen_to_nodes(timer != nullptr);
  listen_to_operations(timer != nullptr && timer->measures_memory());
}

void step_over(const torch::optim::Optimizer* optimizer) {
  StepTimer& timer = StepTimer::instance();
  if (StepTimer::here() != nullptr && timer.measures_memory() && optimizer != nullptr)
    timer.add_optimizer_state(state_bytes(*optimizer));
  if (timer.step_over([optimizer] { return clock_of(optimizer); })) {
    thread_local uint64_t begun = 0;  // the last step that this thread has seen
    const uint64_t step = timer.steps_begun();
    if (std::exchange(begun, step) == step) return;  // the callbacks are still set
    timed_thread = at::RecordFunction::currentThreadId();
    const std::lock_guard lock(step_memory().mutex);
    step_memory().kept.take();
  }
  if (StepTimer::here() != nullptr || thread_state().listens) begin_pass();
}

}  // namespace loupe
