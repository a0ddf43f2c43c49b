#include <loupe/tapped.h>

#include <thread>

#include "torch/probed.h"

namespace nn = torch::nn;
using namespace loupe::testing;
using loupe::Inspector;

namespace {

struct BlockImpl : nn::Module {
  BlockImpl() : linear(register_module("linear", nn::Linear(3, 3))) {}
  torch::Tensor forward(torch::Tensor x) { return linear(x) + x; }
  nn::Linear linear;
};
TORCH_MODULE(Block);

struct ScaleImpl : nn::Module {
  ScaleImpl() : factor(register_parameter("factor", torch::full({1}, 2.0))) {}
  explicit ScaleImpl(double value) : factor(register_parameter("factor", torch::full({1}, value))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x * factor; }
  torch::Tensor factor;
};
TORCH_MODULE(Scale);
using TappedScale = nn::ModuleHolder<loupe::Tapped<ScaleImpl>>;

struct FunctionalNetImpl : nn::Module {
  FunctionalNetImpl()
      : conv1(register_module("conv1", nn::Conv1d(2, 3, 1))), fc(register_module("fc", nn::Linear(3, 3))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(conv1(x));
    x = torch::relu(x - 1).mean(2);
    x = fc(x);
    x = nn::functional::leaky_relu(x, nn::functional::LeakyReLUFuncOptions().inplace(true));
    return torch::log_softmax(x, 1);
  }
  nn::Conv1d conv1;
  nn::Linear fc;
};
TORCH_MODULE(FunctionalNet);

Lines forwards(const Lines& lines) {
  return fields(lines, 2);
}

}  // namespace

TEST(ForwardTaps, SeeEveryLayerOfASequentialWithItsOutput) {
  nn::Sequential model(nn::Linear(4, 3), nn::ReLU(), nn::Linear(3, 2));
  auto inspector = probed();
  inspector.attach(*model);
  const auto output = model->forward(torch::ones({5, 4}));
  const Lines seen = take("forward");
  ASSERT_EQ(forwards(seen), (Lines{"forward|0", "forward|1", "forward|2"}));
  EXPECT_EQ(fields(seen[2], 6), "forward|2||T|G|5x2");
  EXPECT_NEAR(number(seen[2], 6), output.square().sum().item<double>(), 1e-4);
  EXPECT_EQ(seen[0].substr(seen[0].rfind('|')), "|1>1");
}

TEST(ForwardTaps, SeeModulesThatRunInsideATransformerLayer) {
  nn::TransformerEncoder model(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16), 2));
  auto inspector = probed();
  inspector.attach(*model);
  model->forward(torch::randn({3, 2, 8}));
  const Lines seen = forwards(take("forward"));
  for (const char* name : {"layers.0.self_attn", "layers.0.linear1", "layers.0.linear1:relu", "layers.0.dropout",
                           "layers.0.linear2", "layers.0.norm1", "layers.1.norm2", "layers.1"}) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), std::string("forward|") + name), 1) << name;
  }
}

TEST(ForwardTaps, SeeModulesThatReturnTuples) {
  struct Net : nn::Module {
    nn::LSTM lstm = register_module("lstm", nn::LSTM(3, 4));
    nn::GRU gru = register_module("gru", nn::GRU(3, 5));
    nn::MultiheadAttention attention = register_module("attention", nn::MultiheadAttention(4, 2));
    nn::LSTMCell cell = register_module("cell", nn::LSTMCell(3, 6));
  } model;
  auto inspector = probed();
  inspector.attach(model);
  const auto x = torch::randn({7, 2, 3});
  const auto y = std::get<0>(model.lstm(x));
  model.gru(x);
  model.attention(y, y, y);
  model.cell(x[0]);
  const Lines seen = take("forward");
  EXPECT_EQ(fields(seen, 6), (Lines{"forward|lstm||T|G|7x2x4", "forward|gru||T|G|7x2x5", "forward|attention||T|G|7x2x4",
                                    "forward|cell||T|G|2x6"}));
  EXPECT_EQ(seen[0].substr(seen[0].rfind('|')), "|1>3");
  EXPECT_NEAR(number(seen[0], 6), y.square().sum().item<double>(), 1e-4);
}

TEST(ForwardTaps, SeeBatchNormalizationWhoseForwardIsCompiledIntoTheProgram) {
  nn::Sequential model(nn::BatchNorm2d(3), nn::InstanceNorm2d(3), nn::BatchNorm2d(3));
  auto inspector = probed();
  inspector.attach(*model);
  const auto output = model->forward(torch::randn({4, 3, 5, 5}));
  const Lines seen = take("forward");
  ASSERT_EQ(forwards(seen), (Lines{"forward|0", "forward|1", "forward|2"}));
  EXPECT_NEAR(number(seen[2], 6), output.square().sum().item<double>(), 1e-2);
  EXPECT_THROW(model->forward(torch::randn({4, 3})), c10::Error);
  model->forward(torch::randn({4, 3, 5, 5}));
  EXPECT_EQ(forwards(take("forward")), (Lines{"forward|0", "forward|1", "forward|2"}));
}

TEST(ForwardTaps, SeeModelsAttachedAfterABatchNormalizationThrewHalfWay) {
  nn::Sequential model(nn::BatchNorm1d(3));
  auto inspector = probed();
  inspector.attach(*model);
  EXPECT_THROW(model->forward(torch::randn({1, 3})), std::exception);  // one value per channel is too few
  nn::Sequential other(nn::Linear(3, 3), nn::ReLU());
  inspector.attach(*other, "other");
  told().clear();
  other->forward(torch::randn({4, 3}));
  EXPECT_EQ(forwards(take("forward")), (Lines{"forward|other.0", "forward|other.1"}));
  model->forward(torch::randn({4, 3}));
  EXPECT_EQ(forwards(take("forward")), Lines{"forward|0"});
}

TEST(FunctionTaps, NameAFunctionAfterTheModuleBeforeIt) {
  FunctionalNet model;
  auto inspector = probed();
  inspector.attach(*model);
  for (int pass = 0; pass < 2; ++pass) {
    model(torch::randn({4, 2, 6}));
    EXPECT_EQ(forwards(take("forward")), (Lines{"forward|conv1", "forward|conv1:relu", "forward|conv1:relu#2",
                                                "forward|fc", "forward|fc:leaky_relu", "forward|fc:log_softmax"}));
  }
}

TEST(FunctionTaps, SeeEveryFormOfAnActivation) {
  struct Net : nn::Module {
    nn::Linear fc = register_module("fc", nn::Linear(3, 3));
  } net;
  nn::Linear& model = net.fc;
  auto inspector = probed();
  inspector.attach(net);
  const auto seen_after = [&](const std::function<torch::Tensor(torch::Tensor)>& function) {
    const auto x = model(torch::ones({2, 3})).detach();
    told().clear();
    function(x);
    Lines names = forwards(take("forward"));
    return names.size() == 1 ? names[0].substr(names[0].find(':')) : std::to_string(names.size());
  };
  using torch::Tensor;
  namespace F = nn::functional;
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp_(0); }), ":clamp");
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp(0, 6); }), ":clamp");
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp_min(0); }), ":clamp_min");
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp_min_(0); }), ":clamp_min");
  EXPECT_EQ(seen_after([](Tensor x) { return torch::maximum(x, torch::zeros_like(x)); }), ":maximum");
  EXPECT_EQ(seen_after([](Tensor x) { return torch::max(x, torch::zeros({1})); }), ":maximum");
  EXPECT_EQ(seen_after([](Tensor x) { return torch::hardswish_(x); }), ":hardswish");
  EXPECT_EQ(seen_after([](Tensor x) { return F::relu6(x); }), ":relu6");
  EXPECT_EQ(seen_after([](Tensor x) { return torch::relu6_(x); }), ":relu6");
  EXPECT_EQ(seen_after([](Tensor x) { return torch::special::expit(x); }), ":sigmoid");
  // These are no activations, or parts of one that look like arithmetic to a tap.
  EXPECT_EQ(seen_after([](Tensor x) { return F::softsign(x); }), "0");
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp(-20, 2); }), "0");
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp(c10::nullopt, 0); }), "0");
  EXPECT_EQ(seen_after([](Tensor x) { return x.clamp_min(1e-6); }), "0");
  EXPECT_EQ(seen_after([](Tensor x) { return x / x.abs(); }), "0");
}

TEST(FunctionTaps, LeaveOutFunctionsThatModulesAndLossesCallInside) {
  nn::Sequential model(nn::Linear(4, 3), nn::Softmax(1), nn::GRU(3, 3));
  auto inspector = probed();
  inspector.attach(*model);
  const auto hidden = (*model)[0]->as<nn::Linear>()->forward(torch::randn({2, 4}));
  nn::functional::cross_entropy(hidden, torch::tensor({0, 1}));
  (*model)[1]->as<nn::Softmax>()->forward(hidden);
  (*model)[2]->as<nn::GRU>()->forward(torch::randn({2, 1, 3}));
  EXPECT_EQ(forwards(take("forward")), (Lines{"forward|0", "forward|1", "forward|2"}));
}

TEST(FunctionTaps, LeaveOutFunctionsOfAModelThatIsNotAttached) {
  FunctionalNet watched, other;
  auto inspector = probed();
  inspector.attach(*watched);
  watched(torch::randn({4, 2, 6}));
  told().clear();
  other(torch::randn({4, 2, 6}));
  EXPECT_TRUE(take("forward").empty());
}

TEST(ForwardTaps, TellTrainingFromEvaluationAndGradients) {
  nn::Sequential model(nn::Linear(4, 3));
  auto inspector = probed();
  inspector.attach(*model);
  model->forward(torch::ones({1, 4}));
  model->eval();
  model->forward(torch::ones({1, 4}));
  {
    torch::NoGradGuard no_grad;
    model->forward(torch::ones({1, 4}));
    model->train();
    model->forward(torch::ones({1, 4}));
  }
  EXPECT_EQ(fields(take("forward"), 5),
            (Lines{"forward|0||T|G", "forward|0||E|G", "forward|0||E|-", "forward|0||T|-"}));
}

TEST(ForwardTaps, SeeBothUsesOfAModuleUnderItsFirstName) {
  struct Net : nn::Module {
    nn::Linear shared{3, 3};
    Net() {
      register_module("first", shared);
      register_module("second", shared);
    }
  } model;
  auto inspector = probed();
  inspector.attach(model);
  model.shared(model.shared(torch::ones({2, 3})));
  EXPECT_EQ(forwards(take("forward")), (Lines{"forward|first", "forward|first"}));
  EXPECT_NE(inspector.coverage().find("second  Linear  the same module as first"), std::string::npos);
}

TEST(ForwardTaps, TellTwoInspectorsOfTheSameModel) {
  nn::Sequential model(nn::Linear(3, 3));
  auto first = probed();
  auto second = probed();
  first.attach(*model);
  second.attach(*model);
  told().clear();
  model->forward(torch::ones({1, 3}));
  EXPECT_EQ(take("forward").size(), 2U);
  first.detach();
  model->forward(torch::ones({1, 3}));
  EXPECT_EQ(take("forward").size(), 1U);
}

TEST(ForwardTaps, LeaveNothingRedirectedAfterDetachAndWorkAgainAfterAttach) {
  nn::Sequential model(nn::Linear(3, 3), nn::BatchNorm1d(3));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  ASSERT_EQ(Inspector::redirected_calls(), 0U);
  auto inspector = probed();
  inspector.attach(*model, optimizer);
  EXPECT_GT(Inspector::redirected_calls(), 0U);
  inspector.detach();
  EXPECT_EQ(Inspector::redirected_calls(), 0U);
  told().clear();
  model->forward(torch::ones({2, 3}));
  EXPECT_TRUE(take("forward").empty());
  inspector.attach(*model, optimizer);
  told().clear();
  model->forward(torch::ones({2, 3}));
  EXPECT_EQ(forwards(take("forward")), (Lines{"forward|0", "forward|1"}));
}

TEST(ForwardTaps, FollowAModelThatMovesToAnotherType) {
  nn::Sequential model(nn::Linear(3, 3));
  auto inspector = probed("gatherers: [forward, parameter_gradient]");
  inspector.attach(*model);
  model->to(torch::kDouble);
  told().clear();
  model->forward(torch::ones({2, 3}, torch::kDouble)).sum().backward();
  const Lines seen = take("");
  EXPECT_EQ(fields(seen, 3), (Lines{"forward|0|", "parameter_gradient|0|bias", "parameter_gradient|0|weight"}));
}

struct GatedImpl : nn::Module {
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x, bool open = true) {
    return {open ? x + x : x, x};
  }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(true)})
};
TORCH_MODULE(Gated);

TEST(ForwardTaps, SeeWhatASequentialRunsThoughItsForwardIsTheProgramsOwn) {
  nn::Sequential model(nn::Linear(1, 1), Scale(), Scale(3.0), Gated());
  auto inspector = probed("gatherers: [forward, output_gradient]");
  ::testing::internal::CaptureStderr();
  inspector.attach(*model);
  const std::string summary = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(summary.find("4 of 4 modules tapped"), std::string::npos) << summary;
  const auto run = [&] {
    told().clear();
    std::get<0>(model->forward<std::tuple<torch::Tensor, torch::Tensor>>(torch::ones({2, 1}))).sum().backward();
    return fields(take(""), 2);
  };
  EXPECT_EQ(run(), (Lines{"forward|0", "forward|1", "forward|2", "forward|3", "output_gradient|3", "output_gradient|2",
                          "output_gradient|1", "output_gradient|0"}));
  inspector.detach();
  EXPECT_EQ(Inspector::redirected_calls(), 0U);
  EXPECT_EQ(run(), Lines());
  inspector.attach(*model);
  EXPECT_EQ(run().size(), 8U);
}

TEST(ForwardTaps, IgnoreOtherModulesThatASequentialOfTheSameTypeRuns) {
  nn::Sequential model(Scale(3.0)), other(Scale(2.0));
  auto inspector = probed();
  inspector.attach(*model);
  told().clear();
  EXPECT_EQ(other->forward(torch::ones({1})).item<float>(), 2);
  EXPECT_THROW(other->forward(torch::ones({1}), torch::ones({1})), c10::Error);
  EXPECT_TRUE(take("forward").empty());
  model->forward(torch::ones({1}));
  EXPECT_EQ(take("forward").size(), 1U);
}

TEST(ForwardTaps, NameAtAttachWhatTheyCannotReach) {
  struct Net : nn::Module {
    Net() {
      register_module("0", nn::Linear(1, 1));
      register_module("1", Scale());
    }
  };
  const auto model = std::make_shared<Net>();
  auto inspector = probed();
  ::testing::internal::CaptureStderr();
  inspector.attach(*model);
  const std::string summary = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(summary.find("1 of 2 modules tapped"), std::string::npos) << summary;
  EXPECT_NE(summary.find("1 (Scale): its forward is compiled into the program; use loupe::Tapped"), std::string::npos)
      << summary;
  EXPECT_NE(inspector.coverage().find("0  Linear  tapped"), std::string::npos);
}

TEST(Tapped, IsTheOnlyTypeSeenWithExplicitTaps) {
  nn::Sequential model(nn::Linear(1, 1), TappedScale());
  auto inspector = probed("", "attach: {taps: explicit}");
  inspector.attach(*model);
  EXPECT_EQ(Inspector::redirected_calls(), 0U);
  told().clear();
  model->forward(torch::ones({2, 1}));
  EXPECT_EQ(forwards(take("forward")), Lines{"forward|1"});
}

TEST(Depth, CutsTheTreeAndNamesWithTheSeparator) {
  struct Net : nn::Module {
    Net() {
      register_module("0", nn::Linear(3, 3));
      register_module("1", nn::Sequential(nn::Linear(3, 3), nn::ReLU()));
    }
  } model;
  auto inspector = probed("", "attach: {separator: /}");
  inspector.attach(model, "net");
  EXPECT_EQ(fields(take("visit"), 4),
            (Lines{"visit|net|Net|inner", "visit|net/0|Linear|leaf", "visit|net/1|Sequential|inner",
                   "visit|net/1/0|Linear|leaf", "visit|net/1/1|ReLU|leaf"}));
  auto cut = probed("", "attach: {depth: 1}");
  cut.attach(model);
  EXPECT_EQ(fields(take("visit"), 4), (Lines{"visit|Net|Net|inner", "visit|0|Linear|leaf", "visit|1|Sequential|leaf"}));
  auto whole = probed("", "attach: {depth: 0}");
  whole.attach(model);
  EXPECT_EQ(fields(take("visit"), 4), Lines{"visit|Net|Net|leaf"});
}

TEST(Names, OfSeveralModelsBeginWithTheModelsOwn) {
  nn::Sequential generator(nn::Linear(3, 3)), discriminator(nn::Linear(3, 1));
  auto inspector = probed();
  inspector.attach(*generator, "generator");
  inspector.attach(*discriminator, "discriminator");
  EXPECT_THROW(inspector.attach(*generator, "generator"), std::invalid_argument);
  told().clear();
  discriminator->forward(generator->forward(torch::ones({2, 3})));
  EXPECT_EQ(forwards(take("forward")), (Lines{"forward|generator.0", "forward|discriminator.0"}));
  inspector.detach("generator");
  discriminator->forward(generator->forward(torch::ones({2, 3})));
  EXPECT_EQ(forwards(take("forward")), Lines{"forward|discriminator.0"});
  EXPECT_THROW(inspector.detach("generator"), std::invalid_argument);
}

TEST(Faults, OfALensInAHookQuarantineItAndTrainingGoesOn) {
  nn::Sequential model(nn::Linear(3, 3), nn::ReLU());
  auto inspector = probed("fail: 'forward|1'");
  inspector.attach(*model);
  told().clear();
  ::testing::internal::CaptureStderr();
  model->forward(torch::ones({2, 3}));
  model->forward(torch::ones({2, 3}));
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(take("forward").size(), 1U);
  for (const char* part : {"'probe'", "probe.so", "'1'", "forward", "told to fail", "quarantined"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
  EXPECT_EQ(message.find("told to fail"), message.rfind("told to fail"));
}

TEST(Faults, StopTrainingWhereTheConfigurationSaysSo) {
  nn::Sequential model(nn::Linear(3, 3), nn::ReLU());
  auto inspector = probed("fail: 'forward|1'", "on_error: stop");
  inspector.attach(*model);
  EXPECT_THROW(model->forward(torch::ones({2, 3})), std::runtime_error);
  EXPECT_THROW(model->forward(torch::ones({2, 3})), std::runtime_error);
}

TEST(Lifetimes, AModelMayGoWhileAttached) {
  auto inspector = probed("gatherers: [forward, parameter_gradient, optimizer_step, tick]");
  {
    nn::Sequential model(nn::Linear(3, 3), nn::ReLU());
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    inspector.attach(*model, optimizer);
    model->forward(torch::ones({2, 3})).sum().backward();
    optimizer.step();
  }
  inspector.tick_epoch();
  nn::Linear other(3, 3);
  told().clear();
  other(torch::ones({2, 3})).sum().backward();
  inspector.tick_epoch();
  EXPECT_TRUE(take("forward").empty());
  inspector.detach();
}

TEST(Lifetimes, AnInspectorMayGoWhileAttached) {
  nn::Sequential model(nn::Linear(3, 3), nn::ReLU());
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  torch::Tensor loss;
  {
    auto inspector = probed("gatherers: [forward, output_gradient, parameter_gradient, optimizer_step]");
    inspector.attach(*model, optimizer);
    loss = model->forward(torch::ones({2, 3})).sum();
  }
  told().clear();
  loss.backward();
  optimizer.step();
  model->forward(torch::ones({2, 3}));
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(Inspector::redirected_calls(), 0U);
}
