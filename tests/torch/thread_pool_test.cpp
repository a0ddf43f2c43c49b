#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>

namespace loupe {
namespace {

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

std::optional<double> measured_with(int threads, const at::Tensor& tensor) {
  torch::set_num_threads(threads);
  torch::nn::Sequential model(torch::nn::Identity{});
  auto inspector = Inspector::from_text("loupe: 1\nlenses:\n  - output_norm: {include: [Identity]}\n");
  inspector.attach(*model);
  model->forward(tensor);
  inspector.tick_epoch();
  return inspector.value("Output Norm", "0", "mean");
}

TEST(ThreadPool, IsLibTorchsOwnAndChangesNoNumber) {
  const int before = torch::get_num_threads();
  torch::manual_seed(1);
  const at::Tensor large = torch::randn({3, 1 << 20});
  torch::set_num_threads(2);
  at::parallel_for(0, 2, 1, [](int64_t, int64_t) {});
  (large.exp() + large.view({1024, -1}).mm(large.view({-1, 1024})).sum()).sum();  // all of LibTorch's threads are there
  const auto threads = threads_of_this_process();
  const auto alone = measured_with(1, large), together = measured_with(2, large);
  torch::set_num_threads(before);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone, together);
  EXPECT_NEAR(*alone, large.to(torch::kDouble).norm(2, 1).mean().item<double>(), 1e-3);
  EXPECT_LE(threads_of_this_process(), threads) << "no thread but LibTorch's was needed";
}

}  // namespace
}  // namespace loupe
