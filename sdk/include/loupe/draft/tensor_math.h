#pragma once

// A draft: it may change or go without notice. What the host computes of whole tensors. Each function throws Error
// where it does not offer this draft.

#include <loupe/draft/abi/tensor_math.h>
#include <loupe/lenses/kept_tensor.h>

#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// The singular values of a matrix, largest first; more dimensions are flattened from dim 1. Slow.
inline std::vector<double> singular_values(const Host& host, const loupe_tensor& matrix) {
  std::size_t count = 0;
  std::vector<double> values(static_cast<std::size_t>(matrix.dim > 0 ? matrix.sizes[0] : 1));
  detail::ErrorBuffer error;
  const auto& math = host.service<loupe_draft_tensor_math_service>(LOUPE_DRAFT_TENSOR_MATH_ID);
  error.check(math.singular_values(host.context(), &matrix, values.data(), values.size(), &count, error.get()));
  values.resize(count);
  return values;
}
inline std::vector<double> singular_values(const Host& host, const TensorView& matrix) {
  return singular_values(host, *matrix.raw());
}

/// A copy of one item along dimension 0.
inline KeptTensor clone_item(const Host& host, const loupe_tensor& tensor, int64_t item) {
  loupe_retained* kept = nullptr;
  detail::ErrorBuffer error;
  const auto& math = host.service<loupe_draft_tensor_math_service>(LOUPE_DRAFT_TENSOR_MATH_ID);
  error.check(math.clone_item(host.context(), &tensor, item, &kept, error.get()));
  return {host, kept};
}

/// Makes a kept tensor the LOUPE_DRAFT_FOLD_SUM, MEAN, MAX or MIN of the `count` tensors folded so far and one more of
/// the same shape.
inline void fold(const Host& host, KeptTensor& into, const loupe_tensor& tensor, uint32_t aggregation, uint64_t count) {
  detail::ErrorBuffer error;
  const auto& math = host.service<loupe_draft_tensor_math_service>(LOUPE_DRAFT_TENSOR_MATH_ID);
  error.check(math.fold(host.context(), into.raw(), &tensor, aggregation, count, error.get()));
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
