#pragma once

#include <memory>

#include "pipeline/gatherer_node.h"

namespace loupe {

/// Measures with LibTorch's own operators where the tensors are: results stay on the device, one row per event, and
/// come over in one copy when they are collected. Works on any device, the processor included.
/// @param history  how many elements of a tensor are compared with earlier ones at most, and kept on the device
std::unique_ptr<DeviceMeasurer> make_device_measurer(const loupe_request& request, int64_t history);

}  // namespace loupe
