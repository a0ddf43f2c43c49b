#include "testing/made_tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "loupe/version.h"

namespace loupe::testing {
namespace {

/// Says whose a view's `native` is.
const loupe_native_library library = {
    .struct_size = sizeof library, .name = "loupe_testing", .version = LOUPE_VERSION, .identity = &library};

template <class T>
T element(double value) {
  if constexpr (!std::is_floating_point_v<T>) {
    const bool holds = std::isfinite(value) && value == std::trunc(value) &&
                       value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                       value <= static_cast<double>(std::numeric_limits<T>::max());
    if (!holds) {
      throw std::invalid_argument("a tensor of an integer type is given the value " + std::to_string(value) +
                                  ", which it cannot hold; give it a floating type");
    }
  }
  return static_cast<T>(value);
}

template <class T>
void write(std::vector<std::byte>& memory, const std::vector<double>& values) {
  memory.resize(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = element<T>(values[i]);
    std::memcpy(memory.data() + i * sizeof(T), &value, sizeof(T));
  }
}

struct Element {
  std::uint8_t code, bits;
  void (*write)(std::vector<std::byte>&, const std::vector<double>&);
};

Element element_of(Type type) {
  switch (type) {
    case Type::float32:
      return {LOUPE_DTYPE_FLOAT, 32, &write<float>};
    case Type::float64:
      return {LOUPE_DTYPE_FLOAT, 64, &write<double>};
    case Type::int8:
      return {LOUPE_DTYPE_INT, 8, &write<std::int8_t>};
    case Type::int16:
      return {LOUPE_DTYPE_INT, 16, &write<std::int16_t>};
    case Type::int32:
      return {LOUPE_DTYPE_INT, 32, &write<std::int32_t>};
    case Type::int64:
      return {LOUPE_DTYPE_INT, 64, &write<std::int64_t>};
    case Type::uint8:
      return {LOUPE_DTYPE_UINT, 8, &write<std::uint8_t>};
    case Type::boolean:
      return {LOUPE_DTYPE_BOOL, 8, &write<bool>};
  }
  throw std::invalid_argument("a tensor has a type that loupe/testing.h does not know");
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

Tensor tensor(std::vector<double> values, std::vector<std::int64_t> sizes, Type type) {
  if (sizes.empty()) sizes = {static_cast<std::int64_t>(values.size())};
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0) throw std::invalid_argument("a tensor cannot have the sizes " + shape_text(sizes));
    count *= size;
  }
  if (values.size() == 1) values.resize(static_cast<std::size_t>(count), values[0]);
  if (static_cast<std::int64_t>(values.size()) != count) {
    throw std::invalid_argument("a tensor of the sizes " + shape_text(sizes) + " has " + std::to_string(count) +
                                " elements, and is given " + std::to_string(values.size()) +
                                " values; give it as many, or one for all");
  }
  return {std::move(values), std::move(sizes), type};
}

MadeTensor::MadeTensor(Tensor given) : tensor_(testing::tensor(std::move(given.values), given.sizes, given.type)) {
  overwrite(tensor_.values);
  strides_.resize(tensor_.sizes.size());
  std::int64_t stride = 1;
  for (std::size_t d = strides_.size(); d-- > 0; stride *= tensor_.sizes[d]) strides_[d] = stride;
  const Element element = element_of(tensor_.type);
  view_.struct_size = sizeof view_;
  view_.dtype_code = element.code;
  view_.dtype_bits = element.bits;
  view_.dtype_lanes = 1;
  view_.device_type = LOUPE_DEVICE_CPU;
  view_.data = memory_.empty() ? nullptr : memory_.data();
  view_.sizes = tensor_.sizes.data();
  view_.strides = strides_.data();
  view_.dim = static_cast<std::int64_t>(tensor_.sizes.size());
  view_.numel = static_cast<std::int64_t>(tensor_.values.size());
  view_.native = this;
  view_.native_library = &library;
}

void MadeTensor::overwrite(const std::vector<double>& values) {
  element_of(tensor_.type).write(memory_, values);
  tensor_.values = values;
}

std::shared_ptr<const MadeTensor> MadeTensor::behind(const loupe_tensor* view) {
  const bool is_made = view != nullptr && LOUPE_OFFERS(*view, native_library) && view->native != nullptr &&
                       view->native_library->identity == library.identity;
  return is_made ? static_cast<const MadeTensor*>(view->native)->shared_from_this() : nullptr;
}

}  // namespace loupe::testing
