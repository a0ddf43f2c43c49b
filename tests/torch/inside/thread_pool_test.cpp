#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "inspector/thread_pool.h"

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

/// Parts that each wait for the other, which only two threads can bring about.
struct Meeting {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int64_t sum = 0;

  static void join(void* self, int64_t begin, int64_t end) {
    auto& meeting = *static_cast<Meeting*>(self);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      {
        const std::lock_guard lock(meeting.mutex);
        meeting.threads.insert(std::this_thread::get_id());
        if (meeting.threads.size() >= 2 || std::chrono::steady_clock::now() > patience) break;
      }
      std::this_thread::yield();
    }
    const std::lock_guard lock(meeting.mutex);
    for (int64_t i = begin; i < end; ++i) meeting.sum += i;
  }
};

TEST(ThreadPool, LendsAsManyThreadsAsLibTorchIsSetTo) {
  const measure::ParallelFor parallel_for = threads_of_libtorch();
  ASSERT_NE(parallel_for, nullptr);
  const int before = torch::get_num_threads();
  torch::set_num_threads(2);
  Meeting two;
  parallel_for(10, 21, 3, Meeting::join, &two);
  EXPECT_EQ(two.threads.size(), 2u);
  EXPECT_EQ(two.sum, 165) << "each of 10 to 20 once";
  torch::set_num_threads(1);
  std::set<std::thread::id> alone;
  parallel_for(
      0, 8, 1,
      [](void* threads, int64_t, int64_t) {
        static_cast<std::set<std::thread::id>*>(threads)->insert(std::this_thread::get_id());
      },
      &alone);
  torch::set_num_threads(before);
  EXPECT_EQ(alone, std::set<std::thread::id>{std::this_thread::get_id()});
}

}  // namespace
}  // namespace loupe
