#include "services/event_print.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace loupe {
namespace {

class Print {
 public:
  explicit Print(uint64_t (*version)(const loupe_tensor& tensor)) : version_(version) {}

  void add(const loupe_tensor* tensor) {
    constexpr std::size_t most_words = 512;
    if (tensor == nullptr) return;
    if (version_ != nullptr) add(version_(*tensor));
    if (tensor->device_type != LOUPE_DEVICE_CPU || tensor->data == nullptr || tensor->numel <= 0) return;
    int64_t reach = 1;
    for (int64_t d = 0; d < tensor->dim; ++d) reach += (tensor->sizes[d] - 1) * tensor->strides[d];
    const auto* data = static_cast<const char*>(tensor->data);
    const std::size_t bytes = static_cast<std::size_t>(reach) * tensor->dtype_bits * tensor->dtype_lanes / 8;
    uint64_t word = 0;
    const std::size_t step = std::max<std::size_t>(bytes / sizeof word / most_words, 1) * sizeof word;
    for (std::size_t at = 0; at + sizeof word <= bytes; at += step) {
      std::memcpy(&word, data + at, sizeof word);
      add(word);
    }
    const std::size_t rest = std::min(bytes, sizeof word);
    word = 0;
    std::memcpy(&word, data + bytes - rest, rest);
    add(word);
  }
  uint64_t get() const { return print_; }

 private:
  void add(uint64_t word) {
    print_ = (print_ ^ word) * 0x9E3779B97F4A7C15U;
    print_ ^= print_ >> 29;
  }

  uint64_t (*version_)(const loupe_tensor& tensor);
  uint64_t print_ = 1;
};

/// Whether only the called component could change the event's tensors meanwhile: other threads may add to gradients of
/// parameters, and step while this one ticks or evaluates.
bool is_still(uint32_t tap) {
  return tap == LOUPE_TAP_FORWARD || tap == LOUPE_TAP_FORWARD_BEFORE || tap == LOUPE_TAP_OUTPUT_GRADIENT ||
         tap == LOUPE_TAP_INPUT_GRADIENT || tap == LOUPE_TAP_OPTIMIZER_STEP;
}

}  // namespace

uint64_t print_of(const loupe_event& event, uint64_t (*version)(const loupe_tensor& tensor)) {
  if (!is_still(event.tap)) return 0;
  Print print(version);
  print.add(event.tensor);
  for (std::size_t i = 0; i < event.input_count; ++i) print.add(event.inputs[i]);
  for (std::size_t i = 0; i < event.output_count; ++i) print.add(event.outputs[i]);
  return print.get();
}

}  // namespace loupe
