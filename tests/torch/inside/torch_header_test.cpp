#include <gtest/gtest.h>
#include <loupe/torch.h>

#include <string>

#include "torch/tensor/tensor_view.h"

using namespace loupe;

namespace {

/// The message with which as_torch refuses a view, or "" if it accepts the view.
std::string refusal(const loupe_tensor* tensor) {
  try {
    as_torch(tensor);
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), LOUPE_UNSUPPORTED);
    return e.what();
  }
  return "";
}

class TorchHeader : public ::testing::Test {
 protected:
  const at::Tensor tensor_ = torch::randn({2, 3});
  const TorchTensorView view_{tensor_};
  loupe_native_library library_ = native_libtorch();
  loupe_tensor other_ = with(library_);

  loupe_tensor with(const loupe_native_library& library) const {
    loupe_tensor tensor = *view_.get();
    tensor.native_library = &library;
    return tensor;
  }
};

}  // namespace

TEST_F(TorchHeader, GivesTheTensorBehindAView) {
  EXPECT_TRUE(as_torch(view_.get()).is_same(tensor_));
  EXPECT_EQ(refusal(&other_), "") << "libraries are compared by content, not by address";
}

TEST_F(TorchHeader, RefusesAViewWithoutATensor) {
  EXPECT_EQ(refusal(nullptr), "this tensor has no LibTorch tensor behind it");
  other_.native = nullptr;
  EXPECT_EQ(refusal(&other_), "this tensor has no LibTorch tensor behind it");
}

TEST_F(TorchHeader, RefusesAViewThatDoesNotNameItsLibrary) {
  other_.native_library = nullptr;
  EXPECT_NE(refusal(&other_).find("a library without a name, not to LibTorch"), std::string::npos);
}

TEST_F(TorchHeader, RefusesAnObjectOfAnotherLibrary) {
  library_.name = "mlx";
  EXPECT_NE(refusal(&other_).find("belongs to mlx, not to LibTorch"), std::string::npos) << refusal(&other_);
}

TEST_F(TorchHeader, RefusesAnotherVersion) {
  library_.version = "9.9.9";
  EXPECT_NE(refusal(&other_).find("built for LibTorch " TORCH_VERSION " and the program runs LibTorch 9.9.9"),
            std::string::npos)
      << refusal(&other_);
}

TEST_F(TorchHeader, RefusesASecondLibTorchInTheProcess) {
  const int elsewhere = 0;
  library_.identity = &elsewhere;
  EXPECT_NE(refusal(&other_).find("beside the program's"), std::string::npos) << refusal(&other_);
}
