// A view of a tensor with any dtype, sizes and strides within its memory is measured without reads outside of this
// memory.

#include <loupe/abi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "measure/measurer.h"

namespace {

/// Takes numbers from the input, and zeros after its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  uint32_t below(uint32_t end) { return take<uint16_t>() % end; }
  template <class T>
  T take() {
    T number{};
    const std::size_t count = left_ < sizeof number ? left_ : sizeof number;
    std::memcpy(&number, data_, count);
    data_ += count;
    left_ -= count;
    return number;
  }

 private:
  const uint8_t* data_;
  std::size_t left_;
};

constexpr struct {
  uint8_t code, bits;
} dtypes[] = {{LOUPE_DTYPE_FLOAT, 32}, {LOUPE_DTYPE_FLOAT, 64}, {LOUPE_DTYPE_FLOAT, 16}, {LOUPE_DTYPE_BFLOAT, 16},
              {LOUPE_DTYPE_INT, 8},    {LOUPE_DTYPE_INT, 16},   {LOUPE_DTYPE_INT, 32},   {LOUPE_DTYPE_INT, 64},
              {LOUPE_DTYPE_UINT, 8},   {LOUPE_DTYPE_BOOL, 8}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  loupe_request request{};
  request.struct_size = sizeof request;
  request.measures = bytes.take<uint8_t>();
  request.unit_dimension = bytes.take<int32_t>();
  request.eps = bytes.take<float>();
  loupe::measure::Measurer measurer(request);
  for (int event = 0; event < 4; ++event) {
    const auto& dtype = dtypes[bytes.below(10)];
    int64_t sizes[8], strides[8], numel = 1, last = 0;
    const int64_t dim = bytes.below(6);
    for (int64_t d = 0; d < dim; ++d) {
      sizes[d] = bytes.below(40);
      strides[d] = bytes.below(70);
      numel *= sizes[d];
      last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
    }
    if (numel > 1 << 18) return 0;
    // Exactly the needed size, so that AddressSanitizer sees reads beyond it.
    const std::size_t extent = numel == 0 ? 0 : (static_cast<std::size_t>(last) + 1) * (dtype.bits / 8);
    const std::unique_ptr<unsigned char[]> memory(new unsigned char[extent]);
    for (std::size_t i = 0; i < extent; ++i) {
      const auto byte = bytes.take<uint8_t>();
      memory[i] = dtype.code == LOUPE_DTYPE_BOOL ? byte & 1 : byte;
    }
    loupe_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype_code = dtype.code;
    tensor.dtype_bits = dtype.bits;
    tensor.dtype_lanes = 1;
    tensor.device_type = LOUPE_DEVICE_CPU;
    tensor.data = numel == 0 ? nullptr : memory.get();
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.dim = dim;
    tensor.numel = numel;
    if (bytes.below(8) == 0) measurer.prime(tensor);
    const loupe_measurement measured = measurer.measure(tensor);
    if (measured.nan_count < 0 || measured.inf_count < 0 || measured.nan_count + measured.inf_count > numel)
      std::abort();
  }
  return 0;
}
