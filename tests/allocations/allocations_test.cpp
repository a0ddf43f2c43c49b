// Counts allocations and held memory, with and without Loupe.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>

#include "benchmarks/bench_models.h"

namespace {
std::atomic<int64_t> allocations{0}, blocks_held{0}, bytes_held{0};

void* count(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  allocations.fetch_add(1, std::memory_order_relaxed);
  blocks_held.fetch_add(1, std::memory_order_relaxed);
  bytes_held.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}
void* allocate(std::size_t size) {
  return count(std::malloc(size == 0 ? 1 : size));
}
void* allocate(std::size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  return count(posix_memalign(&memory, static_cast<std::size_t>(alignment), size == 0 ? 1 : size) == 0 ? memory
                                                                                                       : nullptr);
}
void release(void* memory) {
  if (memory == nullptr) return;
  blocks_held.fetch_sub(1, std::memory_order_relaxed);
  bytes_held.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}
}  // namespace

// LibTorch, Loupe and its plugins allocate through these functions, except for the elements of LibTorch's tensors.
void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, alignment);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace {

namespace nn = torch::nn;

struct Training {
  // There is no bias before the batch norm: its gradient would be rounding errors, so an update of it, and with it a
  // correlation, could first come at any time.
  nn::Sequential model{nn::Conv2d(nn::Conv2dOptions(1, 4, 3).bias(false)), nn::BatchNorm2d(4), nn::ReLU(),
                       nn::Flatten(), nn::Linear(4 * 6 * 6, 10)};
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
  /// The number of allocations in five steps.
  int64_t count(loupe::Inspector* inspector) {
    const int64_t before = allocations.load();
    for (int i = 0; i < 5; ++i) step(inspector);
    return allocations.load() - before;
  }
};

/// The additional allocations of five steps while these lenses watch, after two epochs.
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
  // LibTorch allocates for gradients of parameters, as in the test below, and copies lists for each node of a timed
  // step (one step in 17): while a thread listens to operators, its state holds lists.
  constexpr int64_t of_a_timed_step = 220;
  EXPECT_LE(extra_allocations("[health]"), 5 * 5 * 2 + of_a_timed_step);
  EXPECT_EQ(extra_allocations("[loss_metrics, output_activation, output_norm, parameter_difference, parameter_norm]"),
            0);
}

TEST(Allocations, ForParameterGradientsAreOnlyThoseOfLibTorch) {
  // LibTorch copies a short list for each accumulator that has any hook. Five parameters have one.
  EXPECT_LE(extra_allocations("[parameter_gradient_geometry]"), 5 * 5 * 2);
  EXPECT_EQ(extra_allocations("[parameter_gradient_geometry, parameter_gradient_activation]"),
            extra_allocations("[parameter_gradient_geometry]"));
}

TEST(Memory, IsFlatOverAThousandEpochs) {
  torch::set_num_threads(1);
  Training training;
  auto inspector = loupe::Inspector::from_text(
      "lenses: [loss_metrics, output_activation, output_norm: {line: [median]}, gradient_geometry, "
      "parameter_difference, histograms]\n");
  inspector.attach(*training.model, training.optimizer);
  int64_t early_blocks = 0, early_bytes = 0;
  for (int epoch = 1; epoch <= 1000; ++epoch) {
    training.step(&inspector);
    inspector.tick_epoch();
    if (epoch == 10) {
      early_blocks = blocks_held;
      early_bytes = bytes_held;
    }
  }
  EXPECT_EQ(blocks_held - early_blocks, 0);
  // Less than a byte per epoch. The size of a block that malloc returns may vary by a few bytes.
  EXPECT_LT(bytes_held - early_bytes, 990);
}

TEST(Memory, IsFlatOverTwoHundredAttachmentsWithoutTicks) {
  torch::set_num_threads(1);
  Training training;
  auto inspector = loupe::Inspector::from_text(
      "attach: {summary: false}\nlenses: [health, loss_metrics, output_activation, output_norm, gradient_geometry, "
      "parameter_difference, histograms]\n");
  int64_t early = 0;
  for (int pair = 1; pair <= 200; ++pair) {
    inspector.attach(*training.model, training.optimizer);
    inspector.detach();
    if (pair == 40) early = bytes_held;
  }
  // Lists of messages may be half full. One attachment takes 40 kilobytes.
  EXPECT_LT(bytes_held - early, 10'000);
}

namespace {

/// An inspector with the lenses of `loupe run`. It writes to a folder that the destructor removes.
class WatchedByDefault {
 public:
  explicit WatchedByDefault(const std::string& visualizers)
      : folder_(testing::TempDir() + "long_run_" + std::to_string(::getpid())),
        inspector(loupe::Inspector::from_text(
            "run: {dir: " + folder_ +
            "}\nattach: {summary: false}\nlenses: [health, loss_metrics, learning_rate, output_activation, "
            "gradient_geometry, parameter_difference]\nvisualizers: " +
            visualizers + "\n")) {}
  ~WatchedByDefault() {
    inspector = loupe::Inspector::from_text("lenses: []\n");
    std::filesystem::remove_all(folder_);
  }
  WatchedByDefault(const WatchedByDefault&) = delete;
  WatchedByDefault& operator=(const WatchedByDefault&) = delete;

 private:
  std::string folder_;

 public:
  loupe::Inspector inspector;
};

}  // namespace

// tests/nightly.sh runs these two tests.

TEST(LongRuns, DISABLED_HaveTicksWithAConstantCost) {
  torch::set_num_threads(1);
  Training training;
  // There is no html visualizer: the times of its reports depend on the clock, so allocations would vary.
  WatchedByDefault watched("[record, csv]");
  watched.inspector.attach(*training.model, training.optimizer);
  constexpr int block = 1000, blocks = 20;
  int64_t early_allocations = 0, early_bytes = 0, last_allocations = 0;
  for (int i = 1; i <= blocks; ++i) {
    const int64_t before = allocations;
    for (int epoch = 0; epoch < block; ++epoch) {
      training.step(&watched.inspector);
      watched.inspector.tick_epoch();
    }
    last_allocations = allocations - before;
    // After the second block, memory has its final size, and every rule has judged once.
    if (i == 2) {
      early_allocations = last_allocations;
      early_bytes = bytes_held;
    }
  }
  EXPECT_GT(early_allocations, block) << "the test counts no allocations";
  EXPECT_LT(static_cast<double>(last_allocations), 1.05 * static_cast<double>(early_allocations));
  // The run keeps a few numbers of each epoch, for example its losses.
  constexpr int64_t most_of_an_epoch = 100;
  EXPECT_LT(bytes_held - early_bytes, most_of_an_epoch * block * (blocks - 2));
}

TEST(LongRuns, DISABLED_TakeLittleMemoryForEachOfHundredsOfConsecutiveModels) {
  torch::set_num_threads(1);
  WatchedByDefault watched("[record, console: {to: stderr}, html]");
  constexpr int models = 300, first = 100;
  int64_t early = 0;
  for (int model = 1; model <= models; ++model) {
    {
      Training training;
      watched.inspector.attach(*training.model, training.optimizer);
      for (int i = 0; i < 3; ++i) training.step(&watched.inspector);
      watched.inspector.tick_epoch();
      watched.inspector.detach();
    }
    if (model == first) early = bytes_held;
  }
  const int64_t each = (bytes_held - early) / (models - first);
  RecordProperty("bytes", std::to_string(each));
  EXPECT_LT(each, 20'000);
}

TEST(Memory, WithoutComparedValuesIsBelowTwentyKilobytesPerModuleForResNet18) {
  torch::set_num_threads(2);
  loupe::bench::Subject subject = loupe::bench::make_subject("C");
  const torch::Tensor input = subject.input.slice(0, 0, 2), target = subject.target.slice(0, 0, 2);
  torch::optim::SGD optimizer(subject.module->parameters(), torch::optim::SGDOptions(1e-4));
  const auto step = [&] {
    optimizer.zero_grad();
    nn::functional::cross_entropy(subject.forward(input), target).backward();
    optimizer.step();
  };
  step();
  auto inspector = loupe::Inspector::from_text(
      "attach: {history: 0}\nlenses: [loss_metrics, output_activation, gradient_geometry: {parameters: [weight]}, "
      "parameter_difference: "
      "{parameters: [weight]}]\n");
  const int64_t before = bytes_held;  // without the descriptions of plugins, which exist once per process
  inspector.attach(*subject.module, optimizer);
  for (int i = 0; i < 3; ++i) step();
  inspector.tick_epoch();
  int64_t compared = 0;
  for (const auto& item : subject.module->named_parameters()) {
    // Compared values are the last gradient and the last two values.
    if (item.key().find("weight") != std::string::npos) compared += 3 * 4 * item.value().numel();
  }
  EXPECT_GT(bytes_held - before, compared) << "the test counts no memory";
  // Containers count as modules, too, as they have taps and streams like their layers.
  const auto modules = static_cast<int64_t>(subject.module->modules(/*include_self=*/false).size());
  EXPECT_LT(bytes_held - before - compared, modules * 20'000);
  RecordProperty("bytes", std::to_string(bytes_held - before - compared));
}
