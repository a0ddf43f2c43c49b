// Findings about batches in the same order in each epoch and about recreated optimizers, and the numbers of epochs.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;

constexpr int batches = 6;

struct Training {
  Training() : inspector(loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n")) {
    torch::manual_seed(5);
    model = nn::Sequential(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 3));
  }
  void step(const torch::Tensor& inputs) {
    optimizer->zero_grad();
    nn::functional::cross_entropy(model->forward(inputs), torch::randint(3, {inputs.size(0)})).backward();
    optimizer->step();
  }
  std::optional<loupe::Finding> find(const std::string& rule) const {
    for (const loupe::Finding& each : inspector.findings()) {
      if (each.rule == rule) return each;
    }
    return std::nullopt;
  }

  loupe::Inspector inspector;
  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

TEST(Epochs, StopAtTheLargestNumber) {
  constexpr int largest = std::numeric_limits<int>::max();
  auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
  std::vector<int> counted;
  for (const int epoch : inspector.epochs(largest - 1, largest)) {
    counted.push_back(epoch);
    if (counted.size() > 2) break;
  }
  EXPECT_EQ(counted, (std::vector<int>{largest - 1, largest}));
  EXPECT_THROW(inspector.epochs(1), std::invalid_argument) << "the largest number is used up";

  auto other = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
  other.tick_epoch(5);
  const auto rest = other.epochs(largest);
  EXPECT_EQ(*rest.begin(), 6) << "no number overflows";
  EXPECT_TRUE(rest.begin() != rest.end());
}

TEST(Epochs, OfALoopWithinALoopGoOn) {
  auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
  std::vector<int> counted;
  for ([[maybe_unused]] int outer : inspector.epochs(2)) {
    for (const int inner : inspector.epochs(3)) {
      inspector.push_loss(inner, /*train=*/true);
      counted.push_back(inner);
    }
    EXPECT_EQ(inspector.loss(/*train=*/true), counted.back());
  }
  for (const int epoch : inspector.epochs(2)) {
    counted.push_back(epoch);
    break;
  }
  for (const int epoch : inspector.epochs(1)) counted.push_back(epoch);
  EXPECT_EQ(counted, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 7}));
}

TEST(Inspector, ThatWasMovedFromRefusesEveryCall) {
  auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
  const auto other = std::move(inspector);
  EXPECT_THROW(inspector.push_loss(1, /*train=*/true), std::logic_error);  // NOLINT: the test uses it after the move
  EXPECT_THROW(inspector.epochs(2), std::logic_error);
  EXPECT_THROW(inspector.value("Loss", "", "train_loss"), std::logic_error);
  EXPECT_FALSE(other.should_stop());
}

std::optional<loupe::Finding> order_of(const std::function<int64_t(int epoch, int batch)>& chosen, int epochs = 4) {
  Training training;
  training.optimizer = std::make_unique<torch::optim::SGD>(training.model->parameters(), 0.01);
  training.inspector.attach(*training.model, *training.optimizer);
  const torch::Tensor data = torch::randn({batches, 16, 6});
  for ([[maybe_unused]] int epoch : training.inspector.epochs(epochs)) {
    for (int batch = 0; batch < batches; ++batch) training.step(data[chosen(epoch, batch)]);
  }
  return training.find("same_order");
}

TEST(OrderOfBatches, IsReportedIfItIsTheSameInThreeEpochs) {
  const auto in_order = [](int, int batch) { return batch; };
  EXPECT_FALSE(order_of(in_order, 2));
  const auto told = order_of(in_order, 3);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->severity, LOUPE_SEVERITY_INFO) << "a time series has to come in order";
  EXPECT_EQ(told->message.substr(0, 29), "the first 6 batches were the ") << told->message;
}

TEST(OrderOfBatches, DiffersIfAnyBatchDiffers) {
  EXPECT_FALSE(order_of([](int epoch, int batch) { return (batch + epoch) % batches; }));
  EXPECT_FALSE(order_of([](int epoch, int batch) { return batch == 5 ? epoch % 2 : batch; }));
}

TEST(OrderOfBatches, IsNotJudgedForASingleBatch) {
  EXPECT_FALSE(order_of([](int, int) { return 0; }));
}

using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(int epoch, std::vector<torch::Tensor> parameters)>;

std::optional<loupe::Finding> made_anew(const Make& make, int epochs, bool in_each_step = false) {
  Training training;
  training.optimizer = make(0, training.model->parameters());
  training.inspector.attach(*training.model, *training.optimizer);
  for ([[maybe_unused]] int epoch : training.inspector.epochs(epochs)) {
    for (int batch = 0; batch < batches; ++batch) {
      if (in_each_step || batch == 0) {
        training.optimizer.reset();
        training.optimizer = make(epoch, training.model->parameters());
      }
      training.step(torch::randn({16, 6}));
    }
  }
  return training.find("new_optimizer");
}

std::unique_ptr<torch::optim::Optimizer> adam(int, std::vector<torch::Tensor> parameters) {
  return std::make_unique<torch::optim::Adam>(std::move(parameters), 1e-3);
}

TEST(OptimizersMadeAnew, LoseNothingIfTheyKeepNoState) {
  const Make plain = [](int, std::vector<torch::Tensor> parameters) {
    return std::make_unique<torch::optim::SGD>(std::move(parameters), 0.01);
  };
  EXPECT_FALSE(made_anew(plain, 6));
  EXPECT_FALSE(made_anew(plain, 1, /*in_each_step=*/true));
}

TEST(OptimizersMadeAnew, AreIntendedIfTheyHoldOtherParameters) {
  const Make thawing = [](int epoch, std::vector<torch::Tensor> parameters) {
    parameters.resize(epoch % 2 == 0 ? 2 : 4);
    return adam(epoch, std::move(parameters));
  };
  EXPECT_FALSE(made_anew(thawing, 6));
}

}  // namespace
