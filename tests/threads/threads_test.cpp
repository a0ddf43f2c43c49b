// Attaching, ticking and detaching while other threads train. What each test counts does not depend on who is faster;
// ThreadSanitizer (tests/run.sh --sanitize thread) says whether they got into each other's way.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/log.h>
#include <torch/torch.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

namespace nn = torch::nn;

namespace {

constexpr int trainers = 8;
const char* const lenses =
    "attach: {active: 2, summary: false}\n"
    "lenses: [output_norm, gradient_geometry, parameter_difference, loss_metrics]\n";

nn::Sequential make_model() {
  return nn::Sequential(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 3));
}

/// Threads that call `step` until `others` is over, and at least three times each.
template <class Step, class Others>
void beside(int count, Step&& step, Others&& others) {
  std::atomic<bool> over{false};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 3 || !over; ++i) {
        step(number);
        if (i == 0) ++started;
      }
    });
  }
  while (started < count) std::this_thread::yield();
  others();
  over = true;
  for (std::thread& each : threads) each.join();
}

}  // namespace

class Threads : public testing::Test {
 protected:
  Threads() { torch::set_num_threads(1); }
};

TEST_F(Threads, TrainModelsOfTheirOwnWhileTheseAreAttachedTickedAndDetached) {
  std::vector<nn::Sequential> models;
  std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
  for (int i = 0; i < trainers; ++i) {
    models.push_back(make_model());
    optimizers.push_back(std::make_unique<torch::optim::SGD>(models.back()->parameters(), 0.01));
  }
  const auto step = [&](int number) {
    const auto i = static_cast<std::size_t>(number);
    optimizers[i]->zero_grad();
    torch::tanh(models[i]->forward(torch::ones({4, 6}))).sum().backward();
    optimizers[i]->step();
  };
  beside(trainers, step, [&] {
    for (int round = 0; round < 3; ++round) {
      auto inspector = loupe::Inspector::from_text(lenses);
      for (int i = 0; i < trainers; ++i) {
        const auto number = static_cast<std::size_t>(i);
        inspector.attach(*models[number], *optimizers[number], "model" + std::to_string(i));
      }
      for (int tick = 0; tick < 6; ++tick) inspector.tick_epoch();
      inspector.detach("model0");
      inspector.tick_epoch();
    }
  });
  EXPECT_EQ(loupe::Inspector::redirected_calls(), 0U);
}

TEST_F(Threads, SumUpTheGradientsOfOneModelWhileItIsAttachedTickedAndDetached) {
  auto model = make_model();
  const auto prompt = torch::ones({4, 6}, torch::requires_grad());
  const auto step = [&](int) { model->forward(prompt).sum().backward(); };
  beside(trainers, step, [&] {
    for (int round = 0; round < 5; ++round) {
      auto inspector = loupe::Inspector::from_text(lenses);
      inspector.attach(*model);
      for (int tick = 0; tick < 6; ++tick) inspector.tick_epoch();
    }
  });
}

TEST_F(Threads, CountEveryPassOfOneModel) {
  auto model = nn::Sequential(nn::Linear(6, 3));
  auto inspector =
      loupe::Inspector::from_text("attach: {summary: false}\nlenses: [gradient_geometry: {line: [max]}]\n");
  inspector.attach(*model);
  std::vector<std::thread> threads;
  for (int i = 0; i < trainers; ++i) {
    threads.emplace_back([&] {
      for (int pass = 0; pass < 10; ++pass) model->forward(torch::ones({4, 6})).sum().backward();
    });
  }
  for (std::thread& each : threads) each.join();
  inspector.tick_epoch();
  // Each pass adds 4 to every element: the last sum is seen, and nothing between two sums.
  const double largest = 4.0 * 10 * trainers * std::sqrt(18.0);
  EXPECT_NEAR(inspector.value("Weight Gradient Norm", "0", "max").value_or(0), largest, 1e-2);
}

TEST_F(Threads, AttachTheirModelsToOneInspectorAtOnce) {
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [output_norm]\n");
  std::vector<nn::Sequential> models;
  for (int i = 0; i < trainers; ++i) models.push_back(make_model());
  std::vector<std::thread> threads;
  for (int i = 0; i < trainers; ++i) {
    threads.emplace_back([&, i] {
      inspector.attach(*models[static_cast<std::size_t>(i)], "model" + std::to_string(i));
      models[static_cast<std::size_t>(i)]->forward(torch::ones({4, 6}));
      inspector.push_metric("seen", i);
    });
  }
  for (std::thread& each : threads) each.join();
  inspector.tick_epoch();
  for (int i = 0; i < trainers; ++i)
    EXPECT_TRUE(inspector.value("Output Norm", "model" + std::to_string(i) + ".1", "mean")) << i;
}

TEST_F(Threads, MaySetTheLogWhileOthersAreLogging) {
  std::vector<std::thread> threads;
  for (int i = 0; i < trainers; ++i) {
    threads.emplace_back([i] {
      nn::Linear model(2, 2);
      for (int round = 0; round < 5; ++round) {
        if (i % 2 == 0) loupe::set_log([](loupe::LogLevel, const std::string&) {});
        auto inspector = loupe::Inspector::from_text("lenses: [output_norm]\n");
        inspector.attach(*model);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  loupe::set_log({});
}
