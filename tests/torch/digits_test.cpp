// Trains the example's model on its data for two epochs, and computes by hand, from the tensors themselves, what
// configs/digits.yaml's lenses report.

#include "digits/reader.h"

#include <cmath>
#include <map>

#include "common/digits.h"
#include "paths.h"
#include "torch/probed.h"

namespace nn = torch::nn;

namespace {

/// Mean, deviation, minimum and maximum of an epoch's values, in the plainest way.
struct Numbers {
  std::vector<double> values;
  double mean() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  double maximum() const { return *std::max_element(values.begin(), values.end()); }
};

double cosine(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a * b).sum() / (a.norm() * b.norm())).item<double>();
}

class ByHand {
 public:
  void activation(const std::string& layer, const torch::Tensor& output) {
    // {batch, unit, ...}: the share of entries away from zero, and the share of units without any.
    const auto active = output.detach().abs().gt(1e-8).transpose(0, 1).flatten(1).to(torch::kDouble);
    numbers_[layer + "|activation"].values.push_back(active.mean(1).mean().item<double>());
    numbers_[layer + "|death"].values.push_back(active.sum(1).eq(0).to(torch::kDouble).mean().item<double>());
  }
  void gradient(const std::string& layer, const torch::Tensor& value) { geometry("gradient|" + layer, value); }
  void update(const std::string& layer, const torch::Tensor& value) { geometry("update|" + layer, value); }
  void number(const std::string& name, double value) { numbers_[name].values.push_back(value); }

  const Numbers& operator[](const std::string& name) const { return numbers_.at(name); }
  void end_epoch() { numbers_.clear(); }

 private:
  void geometry(const std::string& name, const torch::Tensor& value) {
    const auto now = value.detach().clone().flatten().to(torch::kDouble);
    numbers_[name + "|norm"].values.push_back(now.norm().item<double>());
    const auto before = previous_.find(name);
    if (before != previous_.end()) numbers_[name + "|correlation"].values.push_back(cosine(now, before->second));
    previous_[name] = now;
  }

  std::map<std::string, Numbers> numbers_;
  std::map<std::string, torch::Tensor> previous_;
};

/// The example's forward, step by step, with everything in between handed to the hand computation.
torch::Tensor forward(examples::Reader& model, torch::Tensor x, ByHand* hand) {
  const auto note = [&](const std::string& layer, const torch::Tensor& output) {
    if (hand != nullptr) hand->activation(layer, output);
  };
  auto& features = *model->features;
  x = features[0]->as<nn::Conv2d>()->forward(x);
  x = features[1]->as<nn::BatchNorm2d>()->forward(x);
  note("features.2", x = features[2]->as<nn::ReLU>()->forward(x));
  x = features[3]->as<nn::Conv2d>()->forward(x);
  x = features[4]->as<nn::BatchNorm2d>()->forward(x);
  note("features.5", x = features[5]->as<nn::ReLU>()->forward(x));
  x = features[6]->as<nn::MaxPool2d>()->forward(x).flatten(1);
  note("hidden", x = model->hidden(x));
  note("hidden:relu", x = torch::relu(x));
  note("dropout", x = model->dropout(x));
  note("output", x = model->output(x));
  return x;
}

const char* const monitor = R"(
lenses:
  - loss_metrics: {metrics: [accuracy]}
  - output_activation: {include: [+Linear], death_aggregation: max}
  - gradient_geometry: {parameters: [weight], range: [std, min-max]}
  - parameter_difference
)";

}  // namespace

TEST(Digits, RecordedValuesAgreeWithAPlainHandComputation) {
  torch::manual_seed(3);
  torch::set_num_threads(1);
  const examples::Digits digits = examples::load_digits(LOUPE_DIGITS).at(torch::arange(400));
  examples::Reader model;
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  auto inspector = loupe::Inspector::from_text(monitor);
  inspector.attach(*model, optimizer);
  ByHand hand;

  for (int epoch = 1; epoch <= 2; ++epoch) {
    model->train();
    for (const auto& batch : torch::randperm(digits.count()).split(96)) {  // the last one is smaller
      const examples::Digits part = digits.at(batch);
      optimizer.zero_grad();
      const auto loss = nn::functional::cross_entropy(forward(model, part.images, &hand), part.labels);
      loss.backward();
      std::map<std::string, torch::Tensor> before;
      for (const auto& item : model->named_parameters()) {
        if (item.key().find("weight") != std::string::npos) hand.gradient(item.key(), item.value().grad());
        before[item.key()] = item.value().detach().clone();
      }
      optimizer.step();
      for (const auto& item : model->named_parameters()) hand.update(item.key(), item.value() - before[item.key()]);
      inspector.push_loss(loss, /*train=*/true);
      hand.number("loss", loss.item<double>());
    }
    model->eval();
    {
      torch::NoGradGuard no_grad;
      inspector.push_loss(nn::functional::cross_entropy(forward(model, digits.images, nullptr), digits.labels), false);
    }
    inspector.tick_epoch();

    const auto expect = [&](const std::string& tag, const std::string& layer, const std::string& line,
                            double expected) {
      const auto value = inspector.value(tag, layer, line);
      ASSERT_TRUE(value.has_value()) << tag << " of " << layer;
      EXPECT_NEAR(*value, expected, 1e-5 + 1e-4 * std::abs(expected))
          << tag << " of " << layer << " in epoch " << epoch;
    };
    for (const char* layer : {"features.2", "features.5", "hidden", "hidden:relu", "dropout", "output"}) {
      expect("Output Activations", layer, "activation_rate", hand[std::string(layer) + "|activation"].mean());
      expect("Output Activations", layer, "death_rate", hand[std::string(layer) + "|death"].maximum());
    }
    for (const char* layer : {"features.0", "features.1", "features.3", "features.4", "hidden", "output"}) {
      const std::string weight = std::string(layer) + ".weight", bias = std::string(layer) + ".bias";
      expect("Weight Gradient Norm", layer, "mean", hand["gradient|" + weight + "|norm"].mean());
      expect("Weight Gradient Correlation", layer, "mean", hand["gradient|" + weight + "|correlation"].mean());
      expect("Weight Update Norm", layer, "mean", hand["update|" + weight + "|norm"].mean());
      expect("Weight Update Correlation", layer, "mean", hand["update|" + weight + "|correlation"].mean());
      expect("Bias Update Norm", layer, "mean", hand["update|" + bias + "|norm"].mean());
    }
    expect("Loss", "Loss", "train_loss mean", hand["loss"].mean());
    EXPECT_NEAR(*inspector.loss(true, "max"), hand["loss"].maximum(), 1e-6);
    EXPECT_TRUE(inspector.loss(false).has_value());
    hand.end_epoch();
  }
}
