#include "tensor.h"

#include <bit>

namespace loupe::measure {

TestTensor::TestTensor(Dtype dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset)
    : dtype_(dtype), sizes_(std::move(sizes)), strides_(std::move(strides)) {
  if (strides_.empty()) strides_ = row_major(sizes_);
  int64_t numel = 1;
  int64_t last = 0;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    numel *= sizes_[d];
    last += (sizes_[d] - 1) * strides_[d];
  }
  const auto size = static_cast<size_t>(element_size(dtype));
  if (numel > 0) {
    memory_.resize(static_cast<size_t>(offset + last + 1) * size, 0x55);
    data_ = memory_.data() + static_cast<size_t>(offset) * size;
  }
  view_.struct_size = sizeof view_;
  set_dtype(view_, dtype);
  view_.device_type = LOUPE_DEVICE_CPU;
  view_.data = data_;
  view_.sizes = sizes_.data();
  view_.strides = strides_.data();
  view_.dim = static_cast<int64_t>(sizes_.size());
  view_.numel = numel;
}

TestTensor& TestTensor::fill(const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) store(offset_of(static_cast<int64_t>(i)), values[i]);
  return *this;
}

TestTensor& TestTensor::fill_random(unsigned seed, double scale) {
  std::mt19937 generator(seed);
  const bool whole =
      dtype_ != Dtype::kFloat32 && dtype_ != Dtype::kFloat64 && dtype_ != Dtype::kFloat16 && dtype_ != Dtype::kBFloat16;
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> values(static_cast<size_t>(view_.numel));
  for (double& value : values) {
    const double drawn = number(generator);
    value = drawn * scale;
    if (dtype_ == Dtype::kBool)
      value = drawn > 0.3 ? 1 : 0;
    else if (dtype_ == Dtype::kUInt8)
      value = drawn < 0 ? 0 : std::floor(drawn * 255);
    else if (whole)
      value = std::round(drawn * 120);
  }
  return fill(values);
}

std::vector<double> TestTensor::values() const {
  std::vector<double> values(static_cast<size_t>(view_.numel));
  for (size_t i = 0; i < values.size(); ++i) values[i] = load(offset_of(static_cast<int64_t>(i)));
  return values;
}

int64_t TestTensor::offset_of(int64_t index) const {
  int64_t offset = 0;
  for (size_t d = sizes_.size(); d-- > 0;) {
    offset += index % sizes_[d] * strides_[d];
    index /= sizes_[d];
  }
  return offset;
}

namespace {

template <typename T>
void put(unsigned char* data, int64_t at, T value) {
  std::memcpy(data + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
T get(const unsigned char* data, int64_t at) {
  T value;
  std::memcpy(&value, data + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

void TestTensor::store(int64_t at, double value) {
  switch (dtype_) {
    case Dtype::kFloat32:
      return put(data_, at, static_cast<float>(value));
    case Dtype::kFloat64:
      return put(data_, at, value);
    case Dtype::kFloat16:
      return put(data_, at, to_half(value));
    case Dtype::kBFloat16:
      return put(data_, at, static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
    case Dtype::kInt8:
      return put(data_, at, static_cast<int8_t>(value));
    case Dtype::kInt16:
      return put(data_, at, static_cast<int16_t>(value));
    case Dtype::kInt32:
      return put(data_, at, static_cast<int32_t>(value));
    case Dtype::kInt64:
      return put(data_, at, static_cast<int64_t>(value));
    default:
      return put(data_, at, static_cast<uint8_t>(value));
  }
}

double TestTensor::load(int64_t at) const {
  switch (dtype_) {
    case Dtype::kFloat32:
      return get<float>(data_, at);
    case Dtype::kFloat64:
      return get<double>(data_, at);
    case Dtype::kFloat16:
      return from_half(get<uint16_t>(data_, at));
    case Dtype::kBFloat16:
      return std::bit_cast<float>(static_cast<uint32_t>(get<uint16_t>(data_, at)) << 16);
    case Dtype::kInt8:
      return get<int8_t>(data_, at);
    case Dtype::kInt16:
      return get<int16_t>(data_, at);
    case Dtype::kInt32:
      return get<int32_t>(data_, at);
    case Dtype::kInt64:
      return static_cast<double>(get<int64_t>(data_, at));
    default:
      return get<uint8_t>(data_, at);
  }
}

uint16_t to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The unit of the last place: 2^-24 for subnormals, else for 11 significant bits.
  const int unit = std::max(exponent - 11, -24);
  const auto units = static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  return static_cast<uint16_t>(sign | ((unit + 24) * 1024 + units));
}

double from_half(uint16_t half) {
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  if (exponent == 0x1f) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace loupe::measure
