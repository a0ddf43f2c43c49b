#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace loupe::test {

/// A row-major float tensor on the CPU.
class Tensor {
 public:
  Tensor(std::vector<int64_t> sizes, std::vector<float> values) : sizes_(std::move(sizes)), values_(std::move(values)) {
    strides_.resize(sizes_.size());
    int64_t numel = 1;
    for (size_t d = sizes_.size(); d-- > 0;) {
      strides_[d] = numel;
      numel *= sizes_[d];
    }
    values_.resize(static_cast<size_t>(numel), values_.size() == 1 ? values_[0] : 0.0f);
  }

  loupe_tensor view() const {
    loupe_tensor view{};
    view.struct_size = sizeof view;
    view.dtype_code = LOUPE_DTYPE_FLOAT;
    view.dtype_bits = 32;
    view.dtype_lanes = 1;
    view.device_type = LOUPE_DEVICE_CPU;
    view.data = values_.empty() ? nullptr : values_.data();
    view.sizes = sizes_.data();
    view.strides = strides_.data();
    view.dim = static_cast<int64_t>(sizes_.size());
    view.numel = static_cast<int64_t>(values_.size());
    return view;
  }

 private:
  std::vector<int64_t> sizes_, strides_;
  std::vector<float> values_;
};

}  // namespace loupe::test
