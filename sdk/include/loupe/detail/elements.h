#pragma once

#include <loupe/detail/tensor.h>
#include <loupe/error.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// Reads single elements of a tensor in the processor's memory as doubles, of any strides. For measurements
/// that the host does not offer. Allocates nothing.
///
///     const loupe::Elements scores(event.tensor());
///     const double first = scores(0, 0);        // by an index for each dimension
///     const double last = scores.at(scores.count() - 1);  // by the position in row-major order
class Elements {
 public:
  explicit Elements(const TensorView& tensor) : Elements(tensor.raw()) {}
  explicit Elements(const loupe_tensor* tensor) : tensor_(tensor), kind_(kind_of(tensor)) {
    if (kind_ != Kind::none) is_contiguous_ = TensorView(tensor).is_contiguous();
  }
  /// False if there is nothing to read: the tensor is empty, on a device, or of an unsupported type, for example
  /// complex.
  bool readable() const { return kind_ != Kind::none; }
  bool floating() const { return kind_ != Kind::none && kind_ < Kind::int64; }
  int64_t count() const { return tensor_ != nullptr ? tensor_->numel : 0; }
  int64_t dim() const { return tensor_ != nullptr ? tensor_->dim : 0; }
  /// A negative dimension counts from the end. Throws Error for one that the tensor does not have.
  int64_t size(int64_t d) const {
    const int64_t at = d < 0 ? d + dim() : d;
    if (at < 0 || at >= dim())
      throw Error("a tensor of shape " + shape() + " has no dimension " + std::to_string(d) + ": check dim() first");
    return tensor_->sizes[at];
  }

  /// By position in row-major order, from 0.
  double at(int64_t place) const { return read_at(offset_of(place)); }
  /// By an index for each dimension, from 0. Throws Error if their number is not dim(), one is out of range, or the
  /// elements are not readable().
  template <class... Index>
  double operator()(Index... index) const {
    if (tensor_ == nullptr || sizeof...(Index) != static_cast<std::size_t>(tensor_->dim)) refuse(sizeof...(Index));
    int64_t offset = 0;
    std::size_t d = 0;
    bool is_inside = true;
    const auto step = [&](int64_t i) {
      is_inside = is_inside && i >= 0 && i < tensor_->sizes[d];
      offset += i * tensor_->strides[d++];
    };
    (step(static_cast<int64_t>(index)), ...);
    if (kind_ == Kind::none) throw Error("the elements of this tensor cannot be read: check readable() first");
    if (!is_inside) throw Error("an index is outside a tensor of shape " + shape());
    return read_at(offset);
  }

 protected:
  enum class Kind { none, float32, float64, bfloat16, float16, int64, int32, int16, int8, uint8 };

  const loupe_tensor* tensor() const { return tensor_; }
  Kind kind() const { return kind_; }
  /// The elements as an array if they are contiguous float32; else null.
  const float* floats() const {
    return kind_ == Kind::float32 && is_contiguous_ ? static_cast<const float*>(tensor_->data) : nullptr;
  }
  template <class T>
  static T read(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  const char* bytes_at(int64_t offset) const {
    return static_cast<const char*>(tensor_->data) + offset * (tensor_->dtype_bits / 8);
  }
  int64_t offset_of(int64_t place) const {
    if (is_contiguous_) return place;
    int64_t offset = 0;
    for (int64_t d = tensor_->dim - 1; d >= 0; --d) {
      offset += place % tensor_->sizes[d] * tensor_->strides[d];
      place /= tensor_->sizes[d];
    }
    return offset;
  }

 private:
  static Kind kind_of(const loupe_tensor* tensor) {
    if (tensor == nullptr || tensor->numel == 0 || tensor->data == nullptr) return Kind::none;
    const TensorView view(tensor);
    if (!view.is_cpu()) return Kind::none;
    if (view.is_of(LOUPE_DTYPE_FLOAT, 32)) return Kind::float32;
    if (view.is_of(LOUPE_DTYPE_FLOAT, 64)) return Kind::float64;
    if (view.is_of(LOUPE_DTYPE_BFLOAT, 16)) return Kind::bfloat16;
    if (view.is_of(LOUPE_DTYPE_FLOAT, 16)) return Kind::float16;
    if (view.is_of(LOUPE_DTYPE_INT, 64)) return Kind::int64;
    if (view.is_of(LOUPE_DTYPE_INT, 32)) return Kind::int32;
    if (view.is_of(LOUPE_DTYPE_INT, 16)) return Kind::int16;
    if (view.is_of(LOUPE_DTYPE_INT, 8)) return Kind::int8;
    if (view.is_of(LOUPE_DTYPE_UINT, 8) || view.is_of(LOUPE_DTYPE_BOOL, 8)) return Kind::uint8;
    return Kind::none;
  }
  double read_at(int64_t offset) const {
    const char* element = bytes_at(offset);
    switch (kind_) {
      case Kind::float32:
        return read<float>(element);
      case Kind::float64:
        return read<double>(element);
      case Kind::bfloat16: {
        const uint32_t bits = static_cast<uint32_t>(read<uint16_t>(element)) << 16;
        return read<float>(reinterpret_cast<const char*>(&bits));
      }
      case Kind::float16:
        return half(read<uint16_t>(element));
      case Kind::int64:
        return static_cast<double>(read<int64_t>(element));
      case Kind::int32:
        return read<int32_t>(element);
      case Kind::int16:
        return read<int16_t>(element);
      case Kind::int8:
        return read<int8_t>(element);
      default:
        return read<uint8_t>(element);
    }
  }
  [[noreturn]] void refuse(std::size_t indices) const {
    throw Error(std::to_string(indices) + " indices for a tensor of shape " + shape() + ": check dim() first");
  }
  std::string shape() const {
    std::string text = "[";
    for (int64_t d = 0; tensor_ != nullptr && d < tensor_->dim; ++d)
      text += (d > 0 ? ", " : "") + std::to_string(tensor_->sizes[d]);
    return text + "]";
  }
  static double half(uint16_t bits) {
    const double sign = (bits >> 15) != 0 ? -1 : 1;
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
  }

  const loupe_tensor* tensor_;
  Kind kind_;
  bool is_contiguous_ = false;
};

}  // namespace v1_0
}  // namespace loupe
