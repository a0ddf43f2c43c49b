#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "timing/device_clock.h"

namespace loupe {

/// A clock of a device's current streams, made of its events. Null where there is none: the processor, and LibTorch
/// before it could say whether a stream is being captured, as a query would end the program's capture of a graph.
std::unique_ptr<DeviceClock> make_device_clock(c10::Device device);

}  // namespace loupe
