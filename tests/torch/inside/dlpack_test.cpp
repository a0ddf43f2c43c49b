#include <ATen/DLConvertor.h>
#include <ATen/dlpack.h>
#include <gtest/gtest.h>
#include <loupe/error.h>

#include <vector>

#include "torch/tensor/services.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

/// The tensor as the service lends it. Throws Error where it refuses.
DLTensor lend(const loupe_tensor& tensor, std::size_t size = sizeof(DLTensor)) {
  DLTensor lent;
  detail::ErrorBuffer error;
  error.check(dlpack_service().lend(nullptr, &tensor, &lent, size, error.get()));
  return lent;
}

DLTensor lend(const at::Tensor& tensor) {
  return lend(*TorchTensorView(tensor).get());
}

/// Another library's reader: LibTorch's own, which takes no less than a managed tensor.
at::Tensor read(DLTensor lent) {
  return at::fromDLPack(new DLManagedTensor{lent, nullptr, [](DLManagedTensor* self) { delete self; }});
}

/// Which memory, shape and strides come back.
void expect_lent(const at::Tensor& tensor) {
  const TorchTensorView view(tensor);
  const DLTensor lent = lend(*view.get());
  EXPECT_EQ(lent.data, tensor.numel() == 0 ? nullptr : tensor.data_ptr());
  EXPECT_EQ(lent.byte_offset, 0u);
  EXPECT_EQ(lent.device.device_type, kDLCPU);
  EXPECT_EQ(lent.device.device_id, 0);
  ASSERT_EQ(lent.ndim, tensor.dim());
  EXPECT_EQ(std::vector<int64_t>(lent.shape, lent.shape + lent.ndim), tensor.sizes().vec());
  EXPECT_EQ(std::vector<int64_t>(lent.strides, lent.strides + lent.ndim), tensor.strides().vec());
}

TEST(Dlpack, LendsTheSameMemoryWhateverTheElementType) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kChar, at::kShort, at::kInt,
                                    at::kLong, at::kByte, at::kComplexFloat, at::kComplexDouble}) {
    SCOPED_TRACE(c10::toString(type));
    const at::Tensor tensor = torch::ones({2, 3}, type);
    expect_lent(tensor);
    const TorchTensorView view(tensor);
    const at::Tensor back = read(lend(*view.get()));
    EXPECT_EQ(back.scalar_type(), type);
    EXPECT_EQ(back.data_ptr(), tensor.data_ptr());
    EXPECT_TRUE(back.equal(tensor));
  }
}

TEST(Dlpack, LendsBooleansAsSuch) {
  const at::Tensor tensor = torch::ones({3}, at::kBool);
  expect_lent(tensor);
  const DLTensor lent = lend(tensor);
  EXPECT_EQ(lent.dtype.code, LOUPE_DTYPE_BOOL);
  EXPECT_EQ(lent.dtype.bits, 8);
  EXPECT_EQ(lent.dtype.lanes, 1);
}

TEST(Dlpack, LendsViewsWithTheirStrides) {
  const at::Tensor base = torch::randn({4, 6, 5});
  for (const at::Tensor& tensor : {base.transpose(0, 2), base.select(1, 3), base.slice(2, 1, 5, 2),
                                   base.select(0, 1).expand({7, 6, 5}), base[2][3][4]}) {
    expect_lent(tensor);
    const TorchTensorView view(tensor);
    EXPECT_TRUE(read(lend(*view.get())).equal(tensor));
  }
}

TEST(Dlpack, LendsAnEmptyTensorWithoutMemory) {
  expect_lent(torch::empty({0}));
  expect_lent(torch::empty({3, 0, 2}));
}

TEST(Dlpack, RefusesAPlaceOfAnotherSize) {
  const at::Tensor tensor = torch::ones({2});
  const TorchTensorView view(tensor);
  try {
    lend(*view.get(), sizeof(DLTensor) - 1);
    FAIL() << "it was lent";
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), LOUPE_INVALID);
  }
}

TEST(Dlpack, RefusesWhatDlpackHasNoNumberFor) {
  const at::Tensor tensor = torch::ones({2});
  const TorchTensorView view(tensor);
  for (const bool by_type : {true, false}) {
    loupe_tensor odd = *view.get();
    if (by_type) odd.dtype_code = LOUPE_DTYPE_OPAQUE;
    if (!by_type) odd.device_type = 0;
    try {
      lend(odd);
      FAIL() << "it was lent";
    } catch (const Error& e) {
      EXPECT_EQ(e.status(), LOUPE_UNSUPPORTED);
    }
  }
}

}  // namespace
}  // namespace loupe
