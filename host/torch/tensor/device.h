#ifndef LOUPE_TORCH_TENSOR_DEVICE_H
#define LOUPE_TORCH_TENSOR_DEVICE_H

#include <c10/core/Device.h>

#include <cstdint>

namespace loupe {

/// A device's type as DLPack numbers it; 0 for one that DLPack does not know, such as meta.
int32_t device_type(c10::DeviceType type);

/// The handle of the stream that is current on this thread, such as a cudaStream_t. Null for the default stream, for
/// devices without streams, and where this LibTorch does not give it out.
void* current_stream(c10::Device device);

}  // namespace loupe

#endif
