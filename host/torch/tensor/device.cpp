#include "torch/tensor/device.h"

#include <loupe/abi.h>

namespace loupe {

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

}  // namespace loupe
