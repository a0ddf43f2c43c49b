#pragma once

#include <loupe/abi.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/lent_memory.h"

namespace loupe::check {

/// The data of an event.
struct Data {
  uint8_t code = LOUPE_DTYPE_FLOAT;
  uint8_t bits = 32;
  uint16_t lanes = 1;
  std::vector<int64_t> sizes{4, 3};
  std::vector<int64_t> strides{};  ///< empty: contiguous
  double element = 0.5;
  int32_t device = LOUPE_DEVICE_CPU;
  bool has_tensor = true, has_measurement = true;
  double unasked = 0;  ///< the value of members of a measurement that were not requested

  int64_t numel() const;
  /// "float32 [4, 3] of nan"
  std::string text() const;
};

/// A small network with a function and a loss module, for lenses and visualizers.
struct Network {
  std::vector<const loupe_module*> modules;
  const loupe_model* model = nullptr;
};
Network lend_network(LentMemory& memory);

const loupe_tensor* lend_tensor(LentMemory& memory, const Data& data);
const loupe_measurement* lend_measurement(LentMemory& memory, const Data& data, uint32_t measures);
const loupe_event* lend_event(LentMemory& memory, const Data& data, const loupe_module* module, const char* label,
                              uint64_t number, uint32_t measures);
const loupe_options* lend_options(LentMemory& memory, const loupe_options& options);
const loupe_run* lend_run(LentMemory& memory, const std::string& directory);
const loupe_tick* lend_tick(LentMemory& memory, uint64_t number);
const loupe_step* lend_step(LentMemory& memory, uint64_t number);
const loupe_tag* lend_tag(LentMemory& memory, const std::string& id, bool big);
/// @param reach  adds a band "min".."max" from -reach to reach
const loupe_row* lend_row(LentMemory& memory, const std::string& tag, const char* layer,
                          const std::vector<std::pair<const char*, double>>& values, std::optional<double> reach = {});
const loupe_histogram* lend_histogram(LentMemory& memory, const std::string& tag, std::size_t bins, double count);
const loupe_finding* lend_finding(LentMemory& memory, const loupe_module* module);
const loupe_option_value* lend_hyperparameter(LentMemory& memory, uint32_t type);

}  // namespace loupe::check
