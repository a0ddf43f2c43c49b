#include <loupe/tapped.h>

#include "torch/probed.h"

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

/// Multiplies its input by a weight. Its Tapped form needs no redirections.
struct PassingImpl : nn::Module {
  PassingImpl() : weight(register_parameter("weight", torch::ones({3}))) {}
  torch::Tensor forward(const torch::Tensor& input) { return input * weight; }
  torch::Tensor weight;
};
struct ToldImpl : loupe::Tapped<PassingImpl> {};
TORCH_MODULE(Told);

double squares(const torch::Tensor& tensor) {
  return tensor.to(torch::kDouble).square().sum().item<double>();
}

/// Steps with its own code, as a user's optimizer may. `final` lets the compiler bypass the virtual table.
struct PlainDescent final : torch::optim::Optimizer {
  explicit PlainDescent(std::vector<torch::Tensor> parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(std::move(parameters))},
                  std::make_unique<torch::optim::SGDOptions>(0.1)) {}
  torch::Tensor step(LossClosure = nullptr) override {
    torch::NoGradGuard no_grad;
    for (auto& group : param_groups()) {
      for (auto& parameter : group.params()) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad() * 0.1);
      }
    }
    return {};
  }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
};

template <class Optimizer, class... Arguments>
void expect_steps_seen(const Arguments&... arguments) {
  torch::manual_seed(1);
  nn::Sequential model(nn::Linear(3, 2));
  Optimizer optimizer(model->parameters(), arguments...);
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, optimizer);
  const auto weight = model->named_parameters()["0.weight"];
  // Odd steps call through `optimizer`, even steps through `base` and the virtual table.
  torch::optim::Optimizer& base = optimizer;
  for (int i = 0; i < 4; ++i) {
    const auto before = weight.detach().clone();
    optimizer.zero_grad();
    model->forward(torch::ones({2, 3})).square().sum().backward();
    told().clear();
    const auto closure = [&] { return model->forward(torch::ones({2, 3})).square().sum(); };
    if (i % 2 == 0) {
      base.step(closure);
    } else {
      optimizer.step(closure);
    }
    const Lines seen = take("optimizer_step|0|weight");
    ASSERT_EQ(seen.size(), 1U) << "step " << i;
    EXPECT_NEAR(number(seen[0], 6), squares(weight), 1e-4);
    EXPECT_NEAR(number(seen[0], 7), squares(weight - before), 1e-5);
  }
}

}  // namespace

TEST(OutputGradients, ComeWithTheValueThatAutogradComputes) {
  torch::manual_seed(1);
  nn::Linear first(4, 3), second(3, 2);
  nn::Sequential model(first, nn::Tanh(), second);
  auto inspector = probed("gatherers: [output_gradient, input_gradient]");
  inspector.attach(*model);
  told().clear();
  auto x = torch::randn({5, 4}, torch::requires_grad());
  auto hidden = first(x);
  hidden.retain_grad();
  auto output = second((*model)[1]->as<nn::Tanh>()->forward(hidden));
  output.square().sum().backward();
  const Lines seen = take("");
  EXPECT_EQ(fields(seen, 2), (Lines{"output_gradient|2", "output_gradient|1", "input_gradient|2", "output_gradient|0",
                                    "input_gradient|1", "input_gradient|0"}));
  EXPECT_NEAR(number(seen[3], 6), squares(hidden.grad()), 1e-4);
  EXPECT_NEAR(number(seen[5], 6), squares(x.grad()), 1e-4);
}

TEST(OutputGradients, OfALayerBeforeAnInPlaceActivationAreItsOwn) {
  torch::manual_seed(1);
  const auto gradients = [](bool inplace) {
    torch::manual_seed(2);
    nn::Sequential model(nn::Linear(4, 3), nn::ReLU(nn::ReLUOptions(inplace)), nn::Linear(3, 2));
    auto inspector = probed("gatherers: [output_gradient, forward]");
    inspector.attach(*model);
    model->forward(torch::ones({5, 4})).square().sum().backward();
    Lines lines = take("");
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

TEST(OutputGradients, DoNotComeWithoutABackwardPass) {
  nn::Sequential model(nn::Linear(4, 3));
  auto inspector = probed("gatherers: [output_gradient]");
  inspector.attach(*model);
  torch::NoGradGuard no_grad;
  model->forward(torch::ones({5, 4}));
  EXPECT_TRUE(take("output_gradient").empty());
}

TEST(InputGradients, OfALeafThatEveryPassUsesComeOncePerPass) {
  for (const char* taps : {"auto", "explicit"}) {
    nn::Sequential model(Told{});
    const auto prompt = torch::randn({2, 3}, torch::requires_grad());
    auto inspector = probed("gatherers: [input_gradient]", std::string("attach: {taps: ") + taps + "}\n");
    inspector.attach(*model);
    told().clear();
    for (int pass = 1; pass <= 10; ++pass) (model->forward(prompt) * pass).sum().backward();
    const Lines seen = take("input_gradient|0");
    ASSERT_EQ(seen.size(), 10U) << taps;
    EXPECT_NEAR(number(seen[9], 6), 100 * 6, 1e-3) << "the gradient of the tenth pass only";
  }
}

TEST(InputGradients, OfRecreatedLeavesAreNotMixedUp) {
  nn::Sequential model(nn::Identity{});
  auto inspector = probed("gatherers: [input_gradient]");
  inspector.attach(*model);
  told().clear();
  for (int pass = 0; pass < 200; ++pass) {
    const auto input = torch::ones({2, 3}, torch::requires_grad());
    model->forward(input).sum().backward();
  }
  EXPECT_EQ(take("input_gradient|0").size(), 200U);
}

TEST(ParameterGradients, AreSeenAgainAfterEpochsWithoutMeasuring) {
  for (const char* taps : {"auto", "explicit"}) {
    nn::Sequential model(Told{});
    auto inspector =
        probed("gatherers: [parameter_gradient]", std::string("attach: {active: 2, taps: ") + taps + "}\n");
    inspector.attach(*model);
    std::vector<std::size_t> seen;
    for (int epoch = 1; epoch <= 4; ++epoch) {
      told().clear();
      model->forward(torch::ones({2, 3})).sum().backward();
      seen.push_back(take("parameter_gradient|0|weight").size());
      inspector.tick_epoch();
    }
    EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 0, 1})) << taps;
  }
}

TEST(ParameterGradients, ComeAfterEachAccumulationWithTheSumSoFar) {
  nn::Linear model(3, 2);
  auto inspector = probed("gatherers: [parameter_gradient, step_gradient]");
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  inspector.attach(*model, optimizer);
  told().clear();
  for (int i = 0; i < 2; ++i) {
    model(torch::ones({2, 3})).sum().backward();
    const Lines seen = take("parameter_gradient|Linear|weight");
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_NEAR(number(seen[0], 6), squares(model->weight.grad()), 1e-4);
  }
  model->weight.mutable_grad().mul_(0.5);  // scales the gradient as clipping does
  optimizer.step();
  const Lines seen = take("step_gradient|Linear|weight");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_NEAR(number(seen[0], 6), squares(model->weight.grad()), 1e-4);
}

TEST(ParameterGradients, FollowAParameterFrozenAndThawed) {
  nn::Linear model(3, 2);
  model->weight.set_requires_grad(false);
  auto inspector = probed("gatherers: [parameter_gradient]");
  inspector.attach(*model);
  const auto labels = [&] {
    model->zero_grad();
    told().clear();
    model(torch::ones({2, 3})).sum().backward();
    return fields(take("parameter_gradient"), 3);
  };
  EXPECT_EQ(labels(), Lines{"parameter_gradient|Linear|bias"});
  model->weight.set_requires_grad(true);
  EXPECT_EQ(labels().size(), 2U);
  model->bias.set_requires_grad(false);
  EXPECT_EQ(labels(), Lines{"parameter_gradient|Linear|weight"});
}

TEST(ParameterGradients, OfASparseEmbeddingAreMeasuredByTheirNonZeroRows) {
  nn::Embedding model(nn::EmbeddingOptions(5, 3).sparse(true));
  auto inspector = probed("gatherers: [parameter_gradient], sparse: true");
  inspector.attach(*model);
  told().clear();
  model(torch::tensor({1, 1, 4})).sum().backward();
  const Lines seen = take("parameter_gradient");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_NE(seen[0].find("|2x3|"), std::string::npos) << "the gradient has rows 1 and 4 of 5: " << seen[0];
  EXPECT_NEAR(number(seen[0], 6), squares(model->weight.grad().to_dense()), 1e-6);
}

TEST(ParameterGradients, OfASparseEmbeddingComeOnlyOnRequest) {
  nn::Embedding model(nn::EmbeddingOptions(5, 3).sparse(true));
  auto inspector = probed("gatherers: [parameter_gradient]");
  inspector.attach(*model);
  told().clear();
  model(torch::tensor({1, 1, 4})).sum().backward();
  EXPECT_EQ(take("parameter_gradient"), Lines{});
}

TEST(OptimizerSteps, AreSeenForEveryOptimizerOfLibTorch) {
  expect_steps_seen<torch::optim::SGD>(torch::optim::SGDOptions(0.1));
  expect_steps_seen<torch::optim::Adam>();
  expect_steps_seen<torch::optim::AdamW>();
  expect_steps_seen<torch::optim::RMSprop>();
  expect_steps_seen<torch::optim::Adagrad>();
}

TEST(OptimizerSteps, WithAClosureCountOnce) {
  nn::Linear model(3, 2);
  torch::optim::LBFGS optimizer(model->parameters(), torch::optim::LBFGSOptions(0.1).max_iter(3));
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, optimizer);
  told().clear();
  optimizer.step([&] {
    optimizer.zero_grad();
    auto loss = model(torch::ones({2, 3})).square().sum();
    loss.backward();
    return loss;
  });
  EXPECT_EQ(take("optimizer_step|Linear|weight").size(), 1U);
}

TEST(OptimizerSteps, CalledPastTheTableAreSeenAtTheNextForward) {
  nn::Linear model(3, 2);
  PlainDescent optimizer(model->parameters());
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, optimizer);
  told().clear();
  for (int i = 0; i < 3; ++i) {
    model(torch::ones({2, 3})).sum().backward();
    optimizer.step();  // a direct call, as the class is `final`
  }
  model(torch::ones({2, 3}));
  EXPECT_EQ(take("optimizer_step|Linear|weight").size(), 3U);
}

TEST(OptimizerSteps, ThatBypassTheVirtualTableAreSeenAtTheTick) {
  nn::Linear model(3, 2);
  PlainDescent optimizer(model->parameters());
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, optimizer);
  model(torch::ones({2, 3})).sum().backward();
  told().clear();
  optimizer.step();
  inspector.tick_epoch();
  EXPECT_EQ(take("optimizer_step|Linear|weight").size(), 1U);
  inspector.tick_epoch();
  EXPECT_EQ(take("optimizer_step|Linear|weight").size(), 0U) << "the tick reports the step only once";
}

TEST(Tick, BringsEveryParameterOnce) {
  nn::Linear model(3, 2);
  auto inspector = probed("gatherers: [tick]");
  inspector.attach(*model);
  told().clear();
  inspector.tick_epoch();
  const Lines seen = take("");
  EXPECT_EQ(fields(seen, 3), (Lines{"tick|Linear|weight", "tick|Linear|bias", "tick|1"}));
  EXPECT_NEAR(number(seen[0], 6), squares(model->weight), 1e-5);
}
