// LibTorch's tensor as far as it decides over layouts, so that these need no LibTorch to be read.
#pragma once

namespace at {
class Tensor {
 public:
  Tensor(const Tensor&);
  Tensor& operator=(const Tensor&);
  ~Tensor();

 private:
  void* impl_;
};
}  // namespace at
