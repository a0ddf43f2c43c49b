// Sums of tensors, computed on devices, with which processes compare their tensors.

#include <gtest/gtest.h>
#include <loupe/error.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "services/services.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

std::unique_ptr<loupe_retained> take(const at::Tensor& tensor) {
  loupe_retained* sum = nullptr;
  detail::ErrorBuffer error;
  error.check(fingerprint_service().take(nullptr, TorchTensorView(tensor).get(), &sum, error.get()));
  return std::unique_ptr<loupe_retained>(sum);
}
uint64_t sum_of(const at::Tensor& tensor) {
  const auto sum = take(tensor);
  const loupe_retained* handle = sum.get();
  uint64_t value = 0;
  detail::ErrorBuffer error;
  error.check(fingerprint_service().read(nullptr, &handle, 1, &value, error.get()));
  return value;
}

TEST(Fingerprints, AreEqualForEqualElementsOfAnyTypeAndStride) {
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong, at::kBool}) {
    const at::Tensor tensor = (torch::randn({6, 8}) * 10).to(type);
    EXPECT_EQ(sum_of(tensor), sum_of(tensor.clone())) << type;
    EXPECT_EQ(sum_of(tensor.t()), sum_of(tensor.t().contiguous())) << type;
    at::Tensor changed = tensor.clone();
    changed[3][5] = type == at::kBool ? at::logical_not(changed[3][5]) : changed[3][5] + 1;
    EXPECT_NE(sum_of(tensor), sum_of(changed)) << type;
  }
  EXPECT_EQ(sum_of(torch::zeros({})), 0U);
  EXPECT_EQ(sum_of(torch::zeros({0, 3})), 0U);
}

TEST(Fingerprints, ChangeIfElementsSwapPlacesOrTheLastBitChanges) {
  const at::Tensor tensor = torch::randn({64});
  EXPECT_NE(sum_of(tensor), sum_of(tensor.flip(0)));
  at::Tensor changed = tensor.clone();
  changed[10] = std::nextafter(changed[10].item<float>(), 100.0F);
  EXPECT_NE(sum_of(tensor), sum_of(changed));
}

TEST(Fingerprints, OfALargeTensorUseASample) {
  const at::Tensor tensor = torch::randn({(int64_t{1} << 23) + 5});
  EXPECT_EQ(sum_of(tensor), sum_of(tensor.clone()));
  EXPECT_NE(sum_of(tensor), sum_of(tensor * 1.0001));
}

TEST(Fingerprints, AreReadTogether) {
  const auto one = take(torch::ones({3})), other = take(torch::arange(4));
  const std::vector<const loupe_retained*> handles = {one.get(), other.get(), one.get()};
  std::vector<uint64_t> values(3, 0);
  detail::ErrorBuffer error;
  error.check(fingerprint_service().read(nullptr, handles.data(), handles.size(), values.data(), error.get()));
  EXPECT_EQ(values[0], values[2]);
  EXPECT_EQ(values[1], 6U + 31U) << "0 + 1 + 2 + 3, plus 31 times 0 + 1, the sum of the first half";
}

TEST(Fingerprints, RefuseElementsOfSixteenBytes) {
  EXPECT_THROW(take(torch::ones({3}, at::kComplexDouble)), Error);
}

}  // namespace
}  // namespace loupe
