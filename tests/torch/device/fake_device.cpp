#include "fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace loupe::testing::fake_device {
namespace {

constexpr auto type = c10::DeviceType::PrivateUse1;

struct State {
  std::mutex mutex;
  double host = 0, queue = 0;  // queue: when it has done all its work
  std::map<std::string, double> costs;
  bool captures = false;
  int offences = 0;
};
State& state() {
  static auto* state = new State();
  return *state;
}
/// When the queue would start an operation that is added now.
double end_of_queue() {
  return std::max(state().queue, state().host);
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return fake_device::type; }
  c10::Device exchangeDevice(c10::Device) const override { return device(); }
  c10::Device getDevice() const override { return device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag flag) const override {
    const std::lock_guard lock(state().mutex);
    if (*event == nullptr) *event = new Event();
    *static_cast<Event*>(*event) = {end_of_queue(), flag == c10::EventFlag::BACKEND_DEFAULT};
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void* event) const override {
    const std::lock_guard lock(state().mutex);
    if (state().captures) ++state().offences;
    return static_cast<Event*>(event)->time <= state().host;
  }
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    const Event &first = *static_cast<Event*>(from), &second = *static_cast<Event*>(to);
    TORCH_CHECK(first.keeps_time && second.keeps_time, "these events keep no time");
    return 1e3 * (second.time - first.time);
  }
  void synchronizeEvent(void*) const override { wait_for_queue(); }
  void synchronizeStream(const c10::Stream&) const override { wait_for_queue(); }
  void synchronizeDevice(const c10::DeviceIndex) const override { wait_for_queue(); }
  bool isStreamCapturing(const c10::Stream&) const override {
    const std::lock_guard lock(state().mutex);
    return state().captures;
  }

 private:
  struct Event {
    double time = 0;
    bool keeps_time = false;
  };
  static c10::Device device() { return {fake_device::type, 0}; }
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, device()); }
  static void wait_for_queue() {
    const std::lock_guard lock(state().mutex);
    ++state().offences;
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

/// Reports the device to autograd as available.
class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};
const bool is_registered = [] {
  c10::register_privateuse1_backend("fake");
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  return true;
}();

/// Allocates host memory for the fake device.
class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const memory = c10::GetAllocator(c10::DeviceType::CPU)->raw_allocate(bytes);
    return {memory, memory, &free_memory, c10::Device(type, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static void free_memory(void* memory) { c10::GetAllocator(c10::DeviceType::CPU)->raw_deallocate(memory); }
};
Memory memory;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &memory);

at::Tensor empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> element, c10::optional<at::Layout>,
                 c10::optional<at::Device>, c10::optional<bool>, c10::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   element.value_or(at::kFloat), format);
}
at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, c10::optional<at::ScalarType> element,
                         c10::optional<at::Layout>, c10::optional<at::Device>, c10::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           element.value_or(at::kFloat));
}

/// A host tensor that shares the memory.
at::Tensor on_processor(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), [kept = tensor](void*) {},
      tensor.options().device(at::kCPU));
}
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  on_processor(to).copy_(on_processor(from));
  return to;
}
at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) {
    const at::Tensor sized = at::empty(from.sizes(), to.options());
    to.unsafeGetTensorImpl()->set_storage_keep_dtype(sized.storage());
    to.unsafeGetTensorImpl()->set_sizes_contiguous(sized.sizes());
  }
  return copy_from(from, to, false);
}

/// LibTorch needs this to move a model's parameters to the device.
bool has_compatible_type(const at::Tensor&, const at::Tensor&) {
  return true;
}

void compute(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
  const std::lock_guard lock(state().mutex);
  const auto cost = state().costs.find(operation.operator_name().name);
  if (cost != state().costs.end()) state().queue = end_of_queue() + cost->second;
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&compute>());
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("_has_compatible_shallow_copy_type", &has_compatible_type);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(&at::native::view));
}

}  // namespace

void pass(double seconds) {
  const std::lock_guard lock(state().mutex);
  state().host += seconds;
}
void takes(const char* operation, double seconds) {
  const std::lock_guard lock(state().mutex);
  state().costs[operation] = seconds;
}
void wait() {
  const std::lock_guard lock(state().mutex);
  state().host = end_of_queue();
}
void capture(bool captures) {
  const std::lock_guard lock(state().mutex);
  state().captures = captures;
}
int offences() {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().offences, 0);
}

}  // namespace loupe::testing::fake_device
