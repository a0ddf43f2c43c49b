#pragma once

// The only place for differences between LibTorch versions.

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace loupe {

#define LOUPE_TORCH_AT_LEAST(MAJOR, MINOR) \
  (TORCH_VERSION_MAJOR > (MAJOR) || (TORCH_VERSION_MAJOR == (MAJOR) && TORCH_VERSION_MINOR >= (MINOR)))

/// A shared_ptr before about 2.13, an intrusive_ptr since.
using NodeHandle = decltype(torch::autograd::impl::grad_accumulator(std::declval<const at::Tensor&>()));
/// The same, without keeping the node alive.
template <class Handle>
struct WeakForm;
template <class T>
struct WeakForm<std::shared_ptr<T>> {
  using Type = std::weak_ptr<T>;
};
template <class T, class Null>
struct WeakForm<c10::intrusive_ptr<T, Null>> {
  using Type = c10::weak_intrusive_ptr<T, Null>;
};
using WeakNodeHandle = WeakForm<NodeHandle>::Type;
using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

/// std::erase_if for LibTorch's own lists.
template <class List, class Predicate>
void erase_where(List& list, const Predicate& predicate) {
  list.erase(std::remove_if(list.begin(), list.end(), predicate), list.end());
}

/// Reads without making a lazily copied tensor real.
inline const void* const_data(const at::Tensor& tensor) {
#if LOUPE_TORCH_AT_LEAST(2, 1)
  return tensor.const_data_ptr();
#else
  return tensor.data_ptr();
#endif
}

}  // namespace loupe
