#pragma once

#include <c10/core/DeviceType.h>

#include <cstdint>

namespace loupe {

/// A device's type as DLPack numbers it; 0 for one that DLPack does not know, such as meta.
int32_t device_type(c10::DeviceType type);

}  // namespace loupe
