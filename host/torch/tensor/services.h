#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/part.h"

namespace at {
class Tensor;
}

namespace loupe {

class DeviceMeasurer;
struct TensorLending;

/// Functions on tensors that few runs need: services for components, files, and measurements on a device.
struct ServicesTable {
  static constexpr Part part = Part::services;
  static constexpr const char* without =
      "tensors cannot be written to files, computed with or measured on a device, and no function is named for a NaN";

  const void* (*service)(const char* id);  ///< null for an unknown id
  /// Writes tensors to a file that C++'s torch::load and Python's torch.load both read, the latter also with
  /// weights_only. `as_list`: a list of tensors (std::vector<at::Tensor> in C++), else only the first. Throws
  /// std::runtime_error if the file cannot be written or a tensor is of a kind that neither could read.
  void (*save)(const std::vector<at::Tensor>& tensors, bool as_list, const std::filesystem::path& file);
  /// See DeviceMeasurerFactory.
  std::unique_ptr<DeviceMeasurer> (*measurer)(const loupe_request& request, int64_t history);
  const TensorLending& (*lending)();
  uint64_t (*print)(const loupe_event& event);  ///< see EventPrint
};

/// Offers the services of the part to components.
void offer_tensor_services();

}  // namespace loupe
