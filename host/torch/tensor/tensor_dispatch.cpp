#include "torch/tensor/tensor_dispatch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <sstream>
#include <utility>

#include "core/log.h"
#include "measure/elements.h"

namespace loupe {
namespace {

/// Why a tensor cannot be measured. Each reason is reported once for each element type, layout or device.
enum Reason { of_type, of_layout, of_device, of_memory, reason_count };

std::array<std::atomic<uint64_t>, reason_count> told;

bool is_measured(c10::ScalarType type) {
  const ElementType element = element_type(type);
  loupe_tensor view{};
  view.dtype_code = element.code;
  view.dtype_bits = element.bits;
  view.dtype_lanes = element.lanes;
  return measure::element_size(measure::dtype_of(view)) > 0;
}

struct Cause {
  Reason reason;
  int number;  // below 64
};

Cause cause_of(const at::Tensor& tensor) {
  if (!is_measured(tensor.scalar_type())) return {of_type, static_cast<int>(tensor.scalar_type())};
  if (tensor.layout() != c10::kStrided) return {of_layout, static_cast<int>(tensor.layout())};
  const c10::DeviceType device = tensor.device().type();
  if (device != c10::kCPU && device != c10::kCUDA) return {of_device, static_cast<int>(device)};
  return {of_memory, 0};
}

/// The name that LibTorch's users write: "float32", "complex64", "qint8".
std::string element_name(c10::ScalarType type) {
  static constexpr std::pair<uint8_t, const char*> kinds[] = {{LOUPE_DTYPE_FLOAT, "float"},
                                                              {LOUPE_DTYPE_BFLOAT, "bfloat"},
                                                              {LOUPE_DTYPE_INT, "int"},
                                                              {LOUPE_DTYPE_UINT, "uint"},
                                                              {LOUPE_DTYPE_COMPLEX, "complex"}};
  const ElementType element = element_type(type);
  for (const auto& [code, kind] : kinds) {
    if (code == element.code) return kind + std::to_string(element.bits);
  }
  std::string name = c10::toString(type);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string what_it_is(const at::Tensor& tensor, Reason reason) {
  std::ostringstream text;
  switch (reason) {
    case of_type:
      text << "are " << element_name(tensor.scalar_type());
      break;
    case of_layout:
      text << "are laid out as " << tensor.layout()
           << (tensor.is_sparse() ? ", with values to be added up on a device" : "");
      break;
    case of_device:
      text << "are on the device '" << tensor.device().type() << "', which has no elements to read";
      break;
    default:
      text << "have no own memory, as under vmap or a tracer";
      break;
  }
  return text.str();
}

const char* remedy(Reason reason) {
  switch (reason) {
    case of_type:
      return "measurable are real numbers of 16 to 64 bits, integers and booleans: expose a copy of such a type with "
             "Inspector::expose, as its abs(), to(torch::kFloat) or dequantize()";
    case of_layout:
      return "expose a dense form of what you want to see with Inspector::expose";
    default:
      return "they are not shown; run the model on real tensors of the CPU or of a GPU to see them";
  }
}

std::string what_is_tapped(const Stream& stream) {
  const std::string& label = stream.label();
  switch (stream.tap()) {
    case LOUPE_TAP_OUTPUT_GRADIENT:
      return "the gradients of the outputs";
    case LOUPE_TAP_INPUT_GRADIENT:
      return "the gradients of the inputs";
    case LOUPE_TAP_PARAMETER_GRADIENT:
    case LOUPE_TAP_STEP_GRADIENT:
      return "the gradients of '" + label + "'";
    case LOUPE_TAP_FORWARD_BEFORE:
      return "the inputs";
    case LOUPE_TAP_FORWARD:
      return "the outputs";
    default:
      return "the values of '" + label + "'";
  }
}

/// True at the first call for a cause.
bool is_news(Cause cause) {
  const uint64_t bit = uint64_t{1} << cause.number;
  std::atomic<uint64_t>& mask = told[cause.reason];
  return (mask.load(std::memory_order_relaxed) & bit) == 0 && (mask.fetch_or(bit) & bit) == 0;
}

void tell(const at::Tensor& tensor, Reason reason, const std::string& of, const ModuleNode& module) {
  log(LOUPE_LOG_WARNING, of + " of " + module.shown_name() + " " + what_it_is(tensor, reason) +
                             ", which cannot be measured, here or elsewhere: " + remedy(reason));
}

}  // namespace

void tell_unreadable(const at::Tensor& tensor, const char* of, const ModuleNode& module) {
  if (!tensor.defined()) return;
  const Cause cause = cause_of(tensor);
  if (is_news(cause)) tell(tensor, cause.reason, of, module);
}

void tell_unreadable(const at::Tensor& tensor, const Stream& stream) {
  if (!tensor.defined()) return;
  const Cause cause = cause_of(tensor);
  if (is_news(cause)) tell(tensor, cause.reason, what_is_tapped(stream), stream.module());
}

void forget_told_unreadable() {
  for (std::atomic<uint64_t>& mask : told) mask = 0;
}

}  // namespace loupe
