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

TEST(ThreadPool, IsTheOneOfLibTorchAndChangesNoNumber) {
  const int before = torch::get_num_threads();
  torch::manual_seed(1);
  const at::Tensor large = torch::randn({3, 1 << 20});
  torch::set_num_threads(2);
  at::parallel_for(0, 2, 1, [](int64_t, int64_t) {});
  (large.exp() + large.view({1024, -1}).mm(large.view({-1, 1024})).sum()).sum();  // starts all threads of LibTorch
  const auto threads = threads_of_this_process();
  const auto alone = measured_with(1, large), together = measured_with(2, large);
  torch::set_num_threads(before);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone, together);
  EXPECT_NEAR(*alone, large.to(torch::kDouble).norm(2, 1).mean().item<double>(), 1e-3);
  EXPECT_LE(threads_of_this_process(), threads) << "only LibTorch's threads were needed";
}

/// Each part waits for the others, so that the test needs `expected` threads at once.
struct Meeting {
  std::size_t expected = 2;
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
        if (meeting.threads.size() >= meeting.expected || std::chrono::steady_clock::now() > patience) break;
      }
      std::this_thread::yield();
    }
    const std::lock_guard lock(meeting.mutex);
    for (int64_t i = begin; i < end; ++i) meeting.sum += i;
  }
};

using Threads = std::set<std::thread::id>;

/// The threads that run these parts, which do not wait for each other.
Threads threads_of_parts(int64_t parts) {
  struct {
    std::mutex mutex;
    Threads threads;
  } seen;
  const auto note = [](void* into, int64_t, int64_t) {
    auto& all = *static_cast<decltype(seen)*>(into);
    const std::lock_guard lock(all.mutex);
    all.threads.insert(std::this_thread::get_id());
  };
  threads_of_libtorch()(0, parts, 1, note, &seen);
  return seen.threads;
}

TEST(ThreadPool, LendsAsManyThreadsAsTheSettingOfLibTorch) {
  const measure::ParallelFor parallel_for = threads_of_libtorch();
  ASSERT_NE(parallel_for, nullptr);
  const int before = torch::get_num_threads();
  for (const int threads : {2, 4, 3}) {
    torch::set_num_threads(threads);
    Meeting all;
    all.expected = static_cast<std::size_t>(threads);
    parallel_for(10, 21, 2, Meeting::join, &all);
    EXPECT_EQ(all.threads.size(), all.expected);
    EXPECT_EQ(all.sum, 165) << "each number of 10 to 20 once";
  }
  torch::set_num_threads(1);
  const Threads alone = threads_of_parts(8);
  torch::set_num_threads(before);
  EXPECT_EQ(alone, Threads{std::this_thread::get_id()});
}

TEST(ThreadPool, IsLentAsAWholeOrNotAtAll) {
  const int before = torch::get_num_threads();
  torch::set_num_threads(4);
  const Threads few = threads_of_parts(3), enough = threads_of_parts(4);
  torch::set_num_threads(before);
  EXPECT_EQ(few, Threads{std::this_thread::get_id()});
  EXPECT_EQ(enough.size(), 4U);
}

}  // namespace
}  // namespace loupe
