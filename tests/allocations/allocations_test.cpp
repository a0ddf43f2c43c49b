// Counts the allocations of a training step with and without Loupe: what hooks allocate shows as the difference.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> allocations{0};

void* count_and_allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

// LibTorch, Loupe and its plugins all allocate through these.
void* operator new(std::size_t size) {
  return count_and_allocate(size);
}
void* operator new[](std::size_t size) {
  return count_and_allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

namespace nn = torch::nn;

struct Training {
  nn::Sequential model{nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Flatten(), nn::Linear(4 * 6 * 6, 10)};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.01)};
  torch::Tensor input = torch::randn({8, 1, 8, 8});
  torch::Tensor target = torch::randint(0, 10, {8});

  void step(loupe::Inspector* inspector) {
    optimizer.zero_grad();
    const auto loss = nn::functional::cross_entropy(torch::relu(model->forward(input)), target);
    loss.backward();
    optimizer.step();
    if (inspector != nullptr) inspector->push_loss(1.0, /*train=*/true);
  }
  /// Allocations of five steps.
  int64_t count(loupe::Inspector* inspector) {
    const int64_t before = allocations.load();
    for (int i = 0; i < 5; ++i) step(inspector);
    return allocations.load() - before;
  }
};

/// How many more allocations five steps make while these lenses watch, from the second epoch on.
int64_t extra_allocations(const std::string& lenses) {
  torch::set_num_threads(1);
  Training training;
  for (int i = 0; i < 3; ++i) training.step(nullptr);
  const int64_t without = training.count(nullptr);
  auto inspector = loupe::Inspector::from_text("lenses: " + lenses + "\n");
  inspector.attach(*training.model, training.optimizer);
  for (int epoch = 0; epoch < 2; ++epoch) {
    training.count(&inspector);
    inspector.tick_epoch();
  }
  return training.count(&inspector) - without;
}

}  // namespace

TEST(Allocations, AreNotMadeInHooksAfterTheFirstEpoch) {
  EXPECT_EQ(extra_allocations("[]"), 0);
  EXPECT_EQ(extra_allocations("[loss_metrics]"), 0);
  EXPECT_EQ(extra_allocations("[output_activation]"), 0);
  EXPECT_EQ(extra_allocations("[output_norm: {range: [std, min-max]}]"), 0);
  EXPECT_EQ(extra_allocations("[parameter_difference]"), 0);
  EXPECT_EQ(extra_allocations("[loss_metrics, output_activation, output_norm, parameter_difference, parameter_norm]"),
            0);
}

TEST(Allocations, ForParameterGradientsAreLibTorchsOwn) {
  // LibTorch copies a short list for each accumulator that has a hook, however little the hook does; six parameters
  // are hooked.
  EXPECT_LE(extra_allocations("[parameter_gradient_geometry]"), 5 * 6 * 2);
  EXPECT_EQ(extra_allocations("[parameter_gradient_geometry, parameter_gradient_activation]"),
            extra_allocations("[parameter_gradient_geometry]"));
}
