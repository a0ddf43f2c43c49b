#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <random>
#include <vector>

#include "loupe/abi.h"
#include "measure/measurer.h"

namespace loupe::measure {

inline void set_dtype(loupe_tensor& tensor, Dtype dtype) {
  const auto number = static_cast<uint32_t>(dtype);
  tensor.dtype_code = static_cast<uint8_t>(number);
  tensor.dtype_bits = static_cast<uint8_t>(number >> 8);
  tensor.dtype_lanes = static_cast<uint16_t>(number >> 16);
}

/// Prints a dtype in messages: code, bits and lanes as one number.
inline std::ostream& operator<<(std::ostream& out, Dtype dtype) {
  return out << static_cast<uint32_t>(dtype);
}

/// A tensor for tests. It writes numbers into memory of any dtype and strides, and has a view of them.
class TestTensor {
 public:
  /// `strides` counts elements; empty means row-major. `offset` unused elements come first, to misalign the rest.
  TestTensor(Dtype dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}, int64_t offset = 0);

  /// Sets every element, in row-major order. Elements that share memory get the last of their values.
  TestTensor& fill(const std::vector<double>& values);
  /// Sets every element to a number from -`scale` to `scale`, an integer for integers. Equal seeds give equal numbers.
  TestTensor& fill_random(unsigned seed, double scale = 1);

  /// Every element as read from memory, in row-major order.
  std::vector<double> values() const;

  const loupe_tensor& view() const { return view_; }
  operator const loupe_tensor&() const { return view_; }

  TestTensor(const TestTensor&) = delete;
  TestTensor& operator=(const TestTensor&) = delete;

 private:
  int64_t offset_of(int64_t row_major_index) const;
  void store(int64_t at, double value);
  double load(int64_t at) const;

  Dtype dtype_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  std::vector<unsigned char> memory_;  // exactly the needed size, so that AddressSanitizer sees reads beyond it
  unsigned char* data_ = nullptr;
  loupe_tensor view_ = {};
};

inline std::vector<int64_t> row_major(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) strides[d] = stride;
  return strides;
}

/// Strides of an [N, C, H, W] tensor in which the channels change fastest.
inline std::vector<int64_t> channels_last(const std::vector<int64_t>& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
}

uint16_t to_half(double value);
double from_half(uint16_t half);

inline loupe_request request(uint32_t measures, int32_t unit_dimension = 1, double epsilon = 0) {
  loupe_request r = {};
  r.struct_size = sizeof(r);
  r.measures = measures;
  r.unit_dimension = unit_dimension;
  r.eps = epsilon;
  return r;
}

inline const std::vector<Dtype> kEveryDtype = {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16,
                                               Dtype::kInt8,    Dtype::kInt16,   Dtype::kInt32,   Dtype::kInt64,
                                               Dtype::kUInt8,   Dtype::kBool};

}  // namespace loupe::measure
