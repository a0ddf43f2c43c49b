// A stand-in for LibTorch's tensor with the same layout, so that reading the layouts needs no LibTorch.
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
