#include "torch/tensor/device.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <loupe/abi.h>

#include <atomic>

namespace loupe {
namespace {

/// Devices whose LibTorch has streams but no handles of them, a bit each: asking costs an exception.
std::atomic<uint64_t> without_handles{0};

// Both names are LibTorch 2's, and neither is 1.13's.
template <class Stream>
constexpr bool has_handle = requires(const Stream& stream) {
  stream.native_handle();
}
|| requires(const Stream& stream) {
  stream.stream_handle();
};

template <class Stream>
void* handle_of(const Stream& stream) {
  if constexpr (requires { stream.stream_handle(); }) {
    return stream.stream_handle();
  } else {
    return stream.native_handle();
  }
}

template <class Stream>
void* current_handle(c10::Device device) {
  if constexpr (has_handle<Stream>) {
    const uint64_t bit = uint64_t{1} << static_cast<int>(device.type());
    if ((without_handles.load(std::memory_order_relaxed) & bit) != 0) return nullptr;
    try {
      const Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
      return stream.id() == 0 ? nullptr : handle_of(stream);
    } catch (const c10::Error&) {
      without_handles.fetch_or(bit);
    }
  }
  return nullptr;
}

}  // namespace

int32_t device_type(c10::DeviceType type) {
  switch (type) {
    case c10::DeviceType::CPU:
      return LOUPE_DEVICE_CPU;
    case c10::DeviceType::CUDA:
#ifdef USE_ROCM
      return LOUPE_DEVICE_ROCM;
#else
      return LOUPE_DEVICE_CUDA;
#endif
    case c10::DeviceType::HIP:
      return LOUPE_DEVICE_ROCM;
    case c10::DeviceType::MPS:
      return LOUPE_DEVICE_METAL;
    case c10::DeviceType::XPU:
      return 14;
    case c10::DeviceType::PrivateUse1:
      return 12;
    default:
      return 0;
  }
}

void* current_stream(c10::Device device) {
  return current_handle<c10::Stream>(device);
}

}  // namespace loupe
