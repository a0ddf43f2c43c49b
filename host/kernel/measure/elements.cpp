#include "measure/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace loupe::measure {
namespace {

template <typename From, typename T>
void convert(const std::byte* from, T* to, int64_t count) {
  const From* elements = reinterpret_cast<const From*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(elements[i]);
}

void convert_bfloat16(const std::byte* from, float* to, int64_t count) {
  const auto* elements = reinterpret_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(uint32_t{elements[i]} << 16);
}

void convert_bool(const std::byte* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] != std::byte{0} ? 1.0f : 0.0f;
}

}  // namespace

template <typename T>
ElementReader<T>::ElementReader(const loupe_tensor& tensor, bool dense, int64_t begin)
    : tensor_(tensor),
      dense_(dense),
      dtype_(dtype_of(tensor)),
      element_size_(element_size(dtype_)),
      at_(static_cast<const std::byte*>(tensor.data)) {
  if (dense) {
    at_ += begin * element_size_;
    return;
  }
  for (int64_t d = tensor.dim - 1; d >= 0; --d) {
    index_[d] = begin % tensor.sizes[d];
    begin /= tensor.sizes[d];
    at_ += index_[d] * tensor.strides[d] * element_size_;
  }
}

template <typename T>
const T* ElementReader<T>::next(int64_t count) {
  const std::byte* from = at_;
  if (dense_) {
    at_ += count * element_size_;
  } else {
    from = gather(count);
  }
  return widen(from, count);
}

template <typename T>
const std::byte* ElementReader<T>::gather(int64_t count) {
  switch (element_size_) {
    case 1:
      gather_as(reinterpret_cast<uint8_t*>(gathered_), count);
      break;
    case 2:
      gather_as(reinterpret_cast<uint16_t*>(gathered_), count);
      break;
    case 4:
      gather_as(reinterpret_cast<uint32_t*>(gathered_), count);
      break;
    default:
      gather_as(reinterpret_cast<uint64_t*>(gathered_), count);
      break;
  }
  return gathered_;
}

template <typename T>
template <typename Raw>
void ElementReader<T>::gather_as(Raw* to, int64_t count) {
  const int64_t inner = tensor_.dim - 1;  // not dense, so there is a dimension
  const int64_t stride = tensor_.strides[inner];
  while (count > 0) {
    const int64_t run = std::min(count, tensor_.sizes[inner] - index_[inner]);
    const Raw* from = reinterpret_cast<const Raw*>(at_);
    if (stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(run) * sizeof(Raw));
    } else {
      for (int64_t i = 0; i < run; ++i) to[i] = from[i * stride];
    }
    to += run;
    count -= run;
    index_[inner] += run;
    at_ += run * stride * element_size_;
    // At the end of a dimension, go back to its beginning and one further in the next outer dimension.
    for (int64_t d = inner; d > 0 && index_[d] == tensor_.sizes[d]; --d) {
      index_[d] = 0;
      ++index_[d - 1];
      at_ += (tensor_.strides[d - 1] - tensor_.sizes[d] * tensor_.strides[d]) * element_size_;
    }
  }
}

template <typename T>
const T* ElementReader<T>::widen(const std::byte* from, int64_t count) {
  if constexpr (sizeof(T) == sizeof(double)) {
    switch (dtype_) {
      case Dtype::kInt32:
        convert<int32_t>(from, widened_, count);
        break;
      case Dtype::kInt64:
        convert<int64_t>(from, widened_, count);
        break;
      default:
        return reinterpret_cast<const T*>(from);
    }
  } else {
    switch (dtype_) {
      case Dtype::kFloat16:
        widen_half(reinterpret_cast<const uint16_t*>(from), widened_, count);
        break;
      case Dtype::kBFloat16:
        convert_bfloat16(from, widened_, count);
        break;
      case Dtype::kInt8:
        convert<int8_t>(from, widened_, count);
        break;
      case Dtype::kInt16:
        convert<int16_t>(from, widened_, count);
        break;
      case Dtype::kUInt8:
        convert<uint8_t>(from, widened_, count);
        break;
      case Dtype::kBool:
        convert_bool(from, widened_, count);
        break;
      default:
        return reinterpret_cast<const T*>(from);
    }
  }
  return widened_;
}

template class ElementReader<float>;
template class ElementReader<double>;

}  // namespace loupe::measure
