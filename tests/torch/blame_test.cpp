// Which layer made the first NaN, even if Loupe does not measure that layer in every step.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>

namespace {

namespace nn = torch::nn;

/// Trains a model on random batches until a test spoils one.
struct Spoiled {
  explicit Spoiled(nn::Sequential model_, std::vector<int64_t> sizes_ = {16, 6})
      : model(std::move(model_)), sizes(std::move(sizes_)) {
    inspector.attach(*model, optimizer);
  }
  void step(const std::function<void(torch::Tensor& batch)>& spoil = {}) {
    torch::Tensor batch = torch::randn(sizes);
    if (spoil) spoil(batch);
    // Clears gradients as optimizers of LibTorch 2 and later do by default.
    for (auto& each : model->parameters()) each.mutable_grad().reset();
    const auto loss = nn::functional::cross_entropy(model->forward(batch), torch::randint(3, {sizes[0]}));
    loss.backward();
    optimizer.step();
    inspector.push_loss(loss, true);
  }
  /// Runs enough steps for layers to rest: Loupe skips a layer if its neighbor shows the same fault.
  void settle() {
    for (int i = 0; i < 6; ++i) step();
    EXPECT_TRUE(inspector.findings().empty());
  }
  loupe::Finding only_finding() {
    const auto found = inspector.findings();
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? loupe::Finding() : found[0];
  }

  loupe::Inspector inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  nn::Sequential model;
  std::vector<int64_t> sizes;
  torch::optim::SGD optimizer{model->parameters(), 0.01};
};

class BlameOfTheFirstNaN : public testing::Test {
 protected:
  BlameOfTheFirstNaN() { torch::manual_seed(3); }
  static nn::Sequential perceptron(bool inplace = false) {
    const auto relu = [&] { return nn::ReLU(nn::ReLUOptions().inplace(inplace)); };
    return nn::Sequential(nn::Linear(6, 8), relu(), nn::Linear(8, 16), relu(), nn::Linear(16, 3));
  }
  /// The first convolution rests, as its batch is smaller than its output; so do layers that only select values.
  static nn::Sequential convolutions() {
    return nn::Sequential(nn::Conv2d(1, 16, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(16, 8, 3), nn::BatchNorm2d(8),
                          nn::ReLU(), nn::Flatten(), nn::Linear(8 * 4 * 4, 3));
  }
  static void overflow(nn::Sequential& model, std::size_t layer) {
    const torch::NoGradGuard guard;
    model[layer]->named_parameters()["weight"].fill_(3e38f);
  }
};

bool says(const loupe::Finding& finding, const std::string& text) {
  return finding.message.find(text) != std::string::npos;
}

TEST_F(BlameOfTheFirstNaN, FallsOnALayerThatRestsWhereItMadeIt) {
  for (const bool inplace : {false, true}) {
    Spoiled trainer(perceptron(inplace));
    trainer.settle();
    overflow(trainer.model, 2);
    trainer.step();
    const loupe::Finding found = trainer.only_finding();
    EXPECT_EQ(found.rule, "non_finite");
    EXPECT_EQ(found.layer, "2");
    EXPECT_TRUE(says(found, "'2' made the first NaN or Inf of this run: the output of '1' is finite (its L2 norm is "))
        << found.message;
    EXPECT_TRUE(says(found, "and the input that '3' gets from it has ")) << found.message;
    EXPECT_EQ(found.first_step, 7U);
  }
}

TEST_F(BlameOfTheFirstNaN, FallsOnTheActivationIfItsInputIsFinite) {
  nn::Softplus activation;
  Spoiled trainer(nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 16), activation, nn::Linear(16, 3)));
  trainer.settle();
  activation->options.beta(0);
  trainer.step();
  const loupe::Finding found = trainer.only_finding();
  EXPECT_EQ(found.layer, "3");
  EXPECT_EQ(found.message.rfind("'3' made the first NaN or Inf of this run: ", 0), 0U) << found.message;
}

TEST_F(BlameOfTheFirstNaN, FallsOnTheBatchThoughTheFirstLayersOutputIsNotMeasured) {
  Spoiled trainer(convolutions(), {16, 1, 14, 14});
  trainer.settle();
  trainer.step([](torch::Tensor& batch) { batch[3][0][5][5] = INFINITY; });
  const loupe::Finding found = trainer.only_finding();
  EXPECT_EQ(found.layer, "0");
  EXPECT_TRUE(says(found, "the batch itself contains the first NaN or Inf of this run: the input of '0'"))
      << found.message;
}

TEST_F(BlameOfTheFirstNaN, FallsOnAFirstLayerThatIsNotMeasuredWithTheMagnitudeOfItsBatch) {
  Spoiled trainer(convolutions(), {16, 1, 14, 14});
  trainer.settle();
  overflow(trainer.model, 0);
  trainer.step([](torch::Tensor& batch) { batch[3][0][5][5] = -12.5; });
  const loupe::Finding found = trainer.only_finding();
  EXPECT_EQ(found.layer, "0");
  EXPECT_TRUE(says(found, "(its largest magnitude is 12.5), and the input that '1' gets from it has "))
      << found.message;
}

TEST_F(BlameOfTheFirstNaN, FallsOnAConvolutionBetweenAPoolAndABatchNorm) {
  Spoiled trainer(convolutions(), {16, 1, 14, 14});
  trainer.settle();
  overflow(trainer.model, 3);
  trainer.step();
  const loupe::Finding found = trainer.only_finding();
  EXPECT_EQ(found.layer, "3");
  EXPECT_TRUE(says(found, "the input that '4' gets from it has ")) << found.message;
}

/// Applies an operation to the output of one layer before the next layer gets it.
struct BetweenImpl : nn::Module {
  BetweenImpl() {
    first = register_module("first", nn::Linear(6, 8));
    relu = register_module("relu", nn::ReLU());
    second = register_module("second", nn::Linear(8, 16));
    tanh = register_module("tanh", nn::Tanh());
    rectifier = register_module("rectifier", nn::ReLU());
    last = register_module("last", nn::Linear(16, 3));
  }
  torch::Tensor forward(const torch::Tensor& batch) {
    torch::Tensor x = cached.defined() ? cached : relu(first(batch));
    if (alternates && ++runs % 2 == 0) x = x * before;
    x = second(x);
    if (direct) return last(tanh(x));
    x = inplace ? x.mul_(scale) : x * scale;
    return last(rectifies ? rectifier(x) : tanh(x));
  }
  nn::Linear first{nullptr}, second{nullptr}, last{nullptr};
  nn::ReLU relu{nullptr}, rectifier{nullptr};
  nn::Tanh tanh{nullptr};
  double scale = 0.5, before = 0.5;
  bool inplace = false, direct = false, alternates = false, rectifies = false;
  int runs = 0;
  torch::Tensor cached;  ///< if defined, replaces the output of the first layers
};
TORCH_MODULE(Between);

TEST_F(BlameOfTheFirstNaN, FallsOnAnOperationBetweenTwoLayersAndNotOnTheLayerBeforeIt) {
  for (const bool inplace : {false, true}) {
    Between between;
    between->inplace = inplace;
    Spoiled trainer{nn::Sequential(between)};
    trainer.settle();
    between->scale = NAN;
    trainer.step();
    const loupe::Finding found = trainer.only_finding();
    EXPECT_EQ(found.layer, "0.tanh") << inplace;
    EXPECT_TRUE(says(found, "an operation between '0.second' and '0.tanh' made the first NaN")) << found.message;
  }
}

TEST_F(BlameOfTheFirstNaN, FallsOnAnOperationBeforeARectifierWhoseInputIsNotKept) {
  for (const int steps : {6, 24, 60}) {
    Between between;
    between->rectifies = true;
    Spoiled trainer{nn::Sequential(between)};
    for (int i = 0; i < steps; ++i) trainer.step();
    between->scale = NAN;
    trainer.step();
    const loupe::Finding found = trainer.only_finding();
    EXPECT_EQ(found.layer, "0.rectifier") << steps;
    EXPECT_TRUE(says(found, "an operation between '0.second' and '0.rectifier' made the first NaN")) << found.message;
  }
}

TEST_F(BlameOfTheFirstNaN, FallsOnAnOperationThatRunsOnlyInSomeSteps) {
  for (const int steps : {6, 24, 60}) {
    Between between;
    between->direct = between->alternates = true;
    Spoiled trainer{nn::Sequential(between)};
    for (int i = 0; i < steps; ++i) trainer.step();
    between->before = NAN;
    for (int i = 0; i < 2; ++i) trainer.step();
    const loupe::Finding found = trainer.only_finding();
    EXPECT_EQ(found.layer, "0.second");
    EXPECT_TRUE(says(found, "an operation between '0.relu' and '0.second' made the first NaN")) << found.message;
  }
}

/// Uses several layers in turn before one activation.
struct TurnsImpl : nn::Module {
  TurnsImpl() {
    shared = register_module("shared", nn::Linear(6, 6));
    relu = register_module("relu", nn::ReLU());
    first = register_module("a", nn::Linear(6, 6));
    second = register_module("b", nn::Linear(6, 6));
    tanh = register_module("tanh", nn::Tanh());
    last = register_module("last", nn::Linear(6, 3));
  }
  torch::Tensor forward(const torch::Tensor& batch) {
    const torch::Tensor x = relu(shared(batch));
    if (is_detached) return last(tanh(first(x)).detach());
    return last(tanh(takes_second ? second(x) : first(x)));
  }
  nn::Linear shared{nullptr}, first{nullptr}, second{nullptr}, last{nullptr};
  nn::ReLU relu{nullptr};
  nn::Tanh tanh{nullptr};
  bool takes_second = false, is_detached = false;
};
TORCH_MODULE(Turns);

TEST(LayersThatRest, AreNotReportedWhereTheModelStoppedUsingThem) {
  torch::manual_seed(3);
  Turns turns;
  Spoiled trainer{nn::Sequential(turns)};
  const auto warnings = [&] {
    std::string found;
    for (const loupe::Finding& each : trainer.inspector.findings()) {
      if (each.severity != LOUPE_SEVERITY_INFO) found += each.message;
    }
    return found;
  };
  for (int i = 0; i < 20; ++i) {
    turns->takes_second = true;
    trainer.step();
  }
  turns->takes_second = false;
  for (int i = 0; i < 40; ++i) trainer.step();
  EXPECT_EQ(warnings(), "");
}

TEST(LayersThatRest, AreReportedSoonWhereTheLossNoLongerReachesThem) {
  torch::manual_seed(3);
  Turns turns;
  Spoiled trainer{nn::Sequential(turns)};
  for (int i = 0; i < 6; ++i) trainer.step();
  turns->is_detached = true;
  for (int i = 0; i < 5; ++i) trainer.step();
  std::string rules;
  for (const loupe::Finding& each : trainer.inspector.findings()) rules += each.rule + " of " + each.layer + "; ";
  EXPECT_NE(rules.find("unchanged_parameter of 0.a"), std::string::npos) << rules;
}

TEST_F(BlameOfTheFirstNaN, DoesNotFallOnARestingLayerThatTheForwardPassed) {
  Between between;
  between->direct = true;
  Spoiled trainer{nn::Sequential(between)};
  trainer.settle();
  between->cached = torch::full({16, 8}, NAN);
  trainer.step();
  const loupe::Finding found = trainer.only_finding();
  EXPECT_EQ(found.layer, "0.tanh");
  EXPECT_NE(found.message.rfind("'0.tanh' made", 0), 0U) << found.message;
}

/// One activation after several layers.
struct SharedActivationImpl : nn::Module {
  SharedActivationImpl() {
    for (int64_t i = 0; i < 3; ++i) layers.push_back(register_module("fc" + std::to_string(i), nn::Linear(6, 6)));
    tanh = register_module("tanh", nn::Tanh());
    last = register_module("last", nn::Linear(6, 3));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = tanh(layer(x));
    return last(x);
  }
  std::vector<nn::Linear> layers;
  nn::Tanh tanh{nullptr};
  nn::Linear last{nullptr};
};
TORCH_MODULE(SharedActivation);

TEST_F(BlameOfTheFirstNaN, FallsOnTheRightOneOfSeveralLayersBeforeOneActivation) {
  SharedActivation shared;
  Spoiled trainer{nn::Sequential(shared)};
  trainer.settle();
  {
    const torch::NoGradGuard guard;
    shared->layers[1]->weight.select(0, 2).fill_(3e38f);
    shared->layers[1]->weight[2][3] = -3e38f;
    shared->layers[1]->bias[2] = NAN;
  }
  trainer.step();
  EXPECT_EQ(trainer.only_finding().layer, "0.fc1");
}

TEST_F(BlameOfTheFirstNaN, FollowsAModelThatChangesItsPath) {
  Between between;
  between->direct = true;
  Spoiled trainer{nn::Sequential(between)};
  trainer.settle();
  between->direct = false;
  for (int i = 0; i < 16; ++i) trainer.step();
  between->scale = NAN;
  trainer.step();
  EXPECT_EQ(trainer.only_finding().layer, "0.tanh");
}

TEST_F(BlameOfTheFirstNaN, IsTheSameInSparseAndFullSteps) {
  for (const int steps : {17, 18, 19, 20, 33, 34, 35, 36}) {
    Spoiled trainer(perceptron());
    for (int i = 0; i < steps; ++i) trainer.step();
    overflow(trainer.model, 2);
    trainer.step();
    EXPECT_EQ(trainer.only_finding().layer, "2") << steps;
  }
}

TEST_F(BlameOfTheFirstNaN, IsRightForAModelThatWasAttachedTwice) {
  nn::Sequential model = perceptron();
  Spoiled trainer(model);
  trainer.settle();
  trainer.inspector.detach();
  trainer.inspector.attach(*model, trainer.optimizer);
  trainer.settle();
  overflow(model, 2);
  trainer.step();
  EXPECT_EQ(trainer.only_finding().layer, "2");
}

}  // namespace
