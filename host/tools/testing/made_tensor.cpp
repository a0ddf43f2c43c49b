#include "testing/made_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "loupe/version.h"

namespace loupe::testing {
namespace {

/// Identifies the owner of a view's `native`.
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

/// The nearest bfloat16's bits; of two equally near, the even one.
std::uint16_t bfloat16_bits(double value) {
  const auto narrow = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  if (std::isnan(narrow)) return 0x7fc0;
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

/// The nearest float16's bits; of two equally near, the even one.
std::uint16_t float16_bits(double value) {
  if (std::isnan(value)) return 0x7e00;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(value);
  if (size >= 65520) return sign | 0x7c00;
  constexpr int smallest_exponent = -14;
  const int exponent = size > 0 ? std::max(std::ilogb(size), smallest_exponent) : smallest_exponent;
  // Below the smallest exponent the leading one is missing, and a fraction rounded up carries into the exponent.
  const auto fraction = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  const int bits = exponent == smallest_exponent ? fraction : ((exponent + 15) << 10) + fraction - 1024;
  return static_cast<std::uint16_t>(sign | bits);
}

template <class T>
void put(std::byte* to, const T& stored) {
  std::memcpy(to, &stored, sizeof stored);
}
template <class T>
void write(std::byte* to, double value) {
  put(to, element<T>(value));
}

struct Element {
  std::uint8_t code, bits;
  void (*write)(std::byte* to, double value);
};

Element element_of(Type type) {
  switch (type) {
    case Type::float32:
      return {LOUPE_DTYPE_FLOAT, 32, &write<float>};
    case Type::float64:
      return {LOUPE_DTYPE_FLOAT, 64, &write<double>};
    case Type::float16:
      return {LOUPE_DTYPE_FLOAT, 16, [](std::byte* to, double value) { put(to, float16_bits(value)); }};
    case Type::bfloat16:
      return {LOUPE_DTYPE_BFLOAT, 16, [](std::byte* to, double value) { put(to, bfloat16_bits(value)); }};
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
  return {std::move(values), std::move(sizes), type, {}};
}

Tensor strided(Tensor tensor, std::vector<std::int64_t> strides) {
  const bool fits = strides.size() == tensor.sizes.size() &&
                    std::all_of(strides.begin(), strides.end(), [](std::int64_t stride) { return stride >= 0; });
  if (!fits) {
    throw std::invalid_argument("a tensor of the sizes " + shape_text(tensor.sizes) + " cannot have the strides " +
                                shape_text(strides) + "; give each dimension one, from 0");
  }
  tensor.strides = std::move(strides);
  return tensor;
}

MadeTensor::MadeTensor(Tensor given) : strides_(std::move(given.strides)) {
  tensor_ = testing::tensor(std::move(given.values), given.sizes, given.type);
  const std::size_t dim = tensor_.sizes.size();
  if (strides_.empty()) {
    strides_.resize(dim);
    std::int64_t stride = 1;
    for (std::size_t d = dim; d-- > 0; stride *= tensor_.sizes[d]) strides_[d] = stride;
  }
  const Element element = element_of(tensor_.type);
  std::int64_t last = 0;
  for (std::size_t d = 0; d < dim; ++d) last += (tensor_.sizes[d] - 1) * strides_[d];
  if (!tensor_.values.empty()) memory_.resize(static_cast<std::size_t>(last + 1) * element.bits / 8);
  overwrite(tensor_.values);
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
  const Element element = element_of(tensor_.type);
  const std::size_t bytes = element.bits / 8;
  for (std::size_t place = 0; place < values.size(); ++place) {
    auto left = static_cast<std::int64_t>(place);
    std::int64_t offset = 0;
    for (std::size_t d = strides_.size(); d-- > 0; left /= tensor_.sizes[d])
      offset += left % tensor_.sizes[d] * strides_[d];
    element.write(memory_.data() + static_cast<std::size_t>(offset) * bytes, values[place]);
  }
  tensor_.values = values;
}

std::shared_ptr<const MadeTensor> MadeTensor::behind(const loupe_tensor* view) {
  const bool is_made = view != nullptr && LOUPE_OFFERS(*view, native_library) && view->native != nullptr &&
                       view->native_library->identity == library.identity;
  return is_made ? static_cast<const MadeTensor*>(view->native)->shared_from_this() : nullptr;
}

}  // namespace loupe::testing
