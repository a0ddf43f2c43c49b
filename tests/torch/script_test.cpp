#include "torch/script_models.h"

#include <loupe/log.h>
#include <loupe/tapped.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>

#include <algorithm>
#include <map>
#include <thread>

#include "torch/probed.h"

// TorchScript models. The interpreter optimizes them after two forwards.

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

Lines forwards_of(const Lines& lines) {
  return fields(lines, 2);
}

/// Sets whether LibTorch fuses operators. Fused operators have no separate results; the default depends on the build.
class Fusion {
 public:
  explicit Fusion(bool on) : before_(torch::jit::tensorExprFuserEnabled()) {
    torch::jit::setTensorExprFuserEnabled(on);
  }
  ~Fusion() { torch::jit::setTensorExprFuserEnabled(before_); }
  Fusion(const Fusion&) = delete;
  Fusion& operator=(const Fusion&) = delete;

 private:
  bool before_;
};

class ScriptTaps : public testing::Test {
  Fusion fusion_{false};
};

struct Trained {
  ScriptMaker make;
  torch::jit::Module net = residual_script(make);
  torch::optim::SGD optimizer{parameters_of(net), 0.01};
  torch::Tensor input = torch::randn({6, 1, 5, 5}), target = torch::randint(0, 3, {6});

  torch::Tensor forward() { return net.forward({input}).toTensor(); }
  torch::Tensor step() {
    optimizer.zero_grad();
    const torch::Tensor output = forward();
    torch::nll_loss(output, target).backward();
    optimizer.step();
    return output;
  }
};

const Lines in_order = {"forward|stem.0",
                        "forward|stem.1",
                        "forward|stem.2",
                        "forward|stem",
                        "forward|block.conv1",
                        "forward|block.bn1",
                        "forward|block.bn1:relu",
                        "forward|block.conv2",
                        "forward|block.short",
                        "forward|block.short:relu",
                        "forward|block",
                        "forward|norm",
                        "forward|fc",
                        "forward|fc:log_softmax",
                        "forward|Net"};

}  // namespace

TEST_F(ScriptTaps, SeeEveryModuleAndFunctionHoweverTheInterpreterOptimizes) {
  Trained trained;
  auto inspector = probed();
  inspector.attach(trained.net, trained.optimizer);
  EXPECT_EQ(inspector.coverage().find("not tapped"), std::string::npos) << inspector.coverage();
  Lines wanted = in_order;
  std::sort(wanted.begin(), wanted.end());
  for (int i = 0; i < 6; ++i) {
    told().clear();
    const torch::Tensor output = trained.step();
    Lines seen = take("forward");
    const auto root =
        std::find_if(seen.begin(), seen.end(), [](const auto& each) { return fields(each, 2) == "forward|Net"; });
    ASSERT_NE(root, seen.end()) << i;
    EXPECT_EQ(fields(*root, 6), "forward|Net||T|G|6x3");
    const double wanted_sum = output.square().sum().item<double>();
    EXPECT_NEAR(number(*root, 6), wanted_sum, 1e-4 * wanted_sum);
    Lines names = forwards_of(seen);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, wanted) << "step " << i;
  }
  trained.net.eval();
  for (int i = 0; i < 4; ++i) {
    told().clear();
    torch::NoGradGuard guard;
    trained.forward();
    const Lines seen = take("forward");
    Lines names = forwards_of(seen);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, wanted) << "evaluation " << i;
    for (const std::string& line : seen) EXPECT_NE(line.find("|E|-|"), std::string::npos) << line;
  }
}

TEST_F(ScriptTaps, ShowWhatEachModuleGave) {
  ScriptMaker make;
  torch::jit::Module net = residual_script(make);
  net.eval();
  // Computes the same without the script.
  std::map<std::string, torch::Tensor> weights;
  for (const auto& each : net.named_parameters()) weights[each.name] = each.value.detach();
  const torch::Tensor x = torch::randn({2, 1, 5, 5});
  const auto convolved = [&](const torch::Tensor& of, const std::string& name, int64_t padding) {
    return torch::conv2d(of, weights[name + ".weight"], weights[name + ".bias"], 1, padding);
  };
  const auto normed = [](const torch::Tensor& of) { return of / std::sqrt(1 + 1e-5); };
  std::map<std::string, double> wanted;
  const auto want = [&](const std::string& name, const torch::Tensor& value) {
    wanted[name] = value.square().sum().item<double>();
    return value;
  };
  torch::Tensor y = want("stem", torch::relu(want("stem.0", convolved(x, "stem.0", 1))));
  wanted["stem.1"] = wanted["stem.2"] = wanted["stem"];
  torch::Tensor z = want("block.bn1", normed(want("block.conv1", convolved(y, "block.conv1", 1))));
  z = want("block.conv2", convolved(want("block.bn1:relu", torch::relu(z)), "block.conv2", 1));
  z = want("block", torch::relu(z + want("block.short", convolved(y, "block.short", 0))));
  z = want("norm", normed(z));
  z = want("fc", torch::linear(z.flatten(1), weights["fc.weight"], weights["fc.bias"]));
  want("Net", torch::log_softmax(z, 1));

  auto inspector = probed();
  inspector.attach(net);
  for (int i = 0; i < 4; ++i) {
    told().clear();
    net.forward({x});
    std::map<std::string, double> seen;
    for (const std::string& line : take("forward")) {
      const std::string name = fields(line, 2).substr(8);
      seen[name] = number(line, 6);
    }
    for (const auto& [name, value] : wanted) EXPECT_NEAR(seen[name], value, 1e-4 * value + 1e-6) << name << ' ' << i;
  }
}

TEST_F(ScriptTaps, TakeAScriptWithoutAModeToEvaluateWithoutGradients) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module inner(c10::QualifiedName("__torch__.models.Inner"), unit),
      net(c10::QualifiedName("__torch__.models.Net"), unit);
  inner.register_parameter("weight", ScriptMaker::parameter({2, 3}), false);
  inner.define("def forward(self, x):\n  return torch.linear(x, self.weight)\n");
  net.register_module("inner", inner);
  net.define("def forward(self, x):\n  return torch.relu(self.inner.forward(x))\n");
  auto inspector = probed();
  inspector.attach(net);
  const auto expect_all = [&](const std::string& mode) {
    told().clear();
    net.forward({torch::ones({4, 3})});
    const Lines seen = take("forward");
    EXPECT_FALSE(seen.empty());
    for (const std::string& line : seen) EXPECT_NE(line.find(mode), std::string::npos) << line;
  };
  expect_all("|T|G|");
  {
    torch::NoGradGuard guard;
    expect_all("|E|-|");
  }
  expect_all("|T|G|");
}

TEST_F(ScriptTaps, SeeParameterGradientsAndSteps) {
  Trained trained;
  auto inspector = probed("gatherers: [parameter_gradient, optimizer_step]");
  inspector.attach(trained.net, trained.optimizer);
  for (int i = 0; i < 4; ++i) {
    told().clear();
    trained.step();
    const Lines gradients = fields(told(), 3);
    for (const auto& each : trained.net.named_parameters()) {
      const auto dot = each.name.rfind('.');
      const std::string where = "|" + each.name.substr(0, dot) + "|" + each.name.substr(dot + 1);
      for (const char* tap : {"parameter_gradient", "optimizer_step"})
        EXPECT_EQ(std::count(gradients.begin(), gradients.end(), tap + where), 1) << tap << where << ' ' << i;
    }
  }
}

TEST_F(ScriptTaps, LeaveTheTrainingBitIdentical) {
  const auto train = [](bool watched) {
    torch::manual_seed(7);
    Trained trained;
    auto inspector = loupe::Inspector::from_text(
        "attach: {summary: false}\nlenses: [health, output_activation, parameter_difference, "
        "parameter_gradient_geometry]\n");
    if (watched) inspector.attach(trained.net, trained.optimizer);
    for (int i = 0; i < 8; ++i) trained.step();
    if (watched) inspector.tick_epoch();
    std::vector<torch::Tensor> parameters;
    for (const auto& each : parameters_of(trained.net)) parameters.push_back(each.detach().clone());
    return parameters;
  };
  const auto with = train(true), without = train(false);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) EXPECT_TRUE(torch::equal(with[i], without[i])) << i;
}

TEST_F(ScriptTaps, AreRemovedByDetachAndKeepNoScriptAlive) {
  Trained trained;
  auto inspector = probed();
  inspector.attach(trained.net, trained.optimizer);
  trained.step();
  inspector.detach();
  told().clear();
  trained.step();
  EXPECT_EQ(take("forward"), Lines());

  auto dying = std::make_unique<torch::jit::Module>(residual_script(trained.make));
  const c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> weight(
      (*dying->parameters().begin()).getIntrusivePtr());
  inspector.attach(*dying, "dying");
  dying.reset();
  EXPECT_FALSE(weight.expired());
  inspector.tick_epoch();
  EXPECT_TRUE(weight.expired());
}

TEST_F(ScriptTaps, FollowAParameterThatIsReplacedAndMovedElements) {
  ScriptMaker make;
  torch::jit::Module net = make.module("Net");
  net.register_module("a", make.linear(3, 3));
  net.define("def forward(self, x):\n  return self.a.forward(x)\n");
  auto inspector = probed();
  inspector.attach(net);
  net.to(torch::kDouble);
  net.forward({torch::ones({2, 3}, torch::kDouble)});
  EXPECT_EQ(forwards_of(take("forward")), (Lines{"forward|a", "forward|Net"}));
  net.attr("a").toModule().setattr("weight", torch::ones({3, 3}, torch::kDouble));
  net.forward({torch::ones({2, 3}, torch::kDouble)});
  EXPECT_EQ(forwards_of(take("forward")), (Lines{"forward|a", "forward|Net"}));
}

TEST_F(ScriptTaps, SeeALayerInALoopAndSharedWeights) {
  ScriptMaker make;
  torch::jit::Module net = make.module("Net");
  net.register_module("cell", make.linear(3, 3));
  net.register_module("out", make.linear(3, 2));
  net.define(
      "def forward(self, x, n: int):\n"
      "  for i in range(n):\n"
      "    x = torch.tanh(self.cell.forward(x))\n"
      "  return self.out.forward(x)\n");
  auto inspector = probed();
  inspector.attach(net);
  for (int i = 0; i < 4; ++i) {
    told().clear();
    net.forward({torch::ones({2, 3}), 3});
    Lines names = forwards_of(take("forward"));
    EXPECT_EQ(std::count(names.begin(), names.end(), "forward|cell"), 3) << i;
    EXPECT_EQ(std::count(names.begin(), names.end(), "forward|cell:tanh"), 3) << i;
    EXPECT_EQ(std::count(names.begin(), names.end(), "forward|out"), 1) << i;
    EXPECT_EQ(std::count(names.begin(), names.end(), "forward|Net"), 1) << i;
  }
}

TEST_F(ScriptTaps, SurviveAnExceptionAndRunOnSeveralThreads) {
  Trained trained;
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [output_activation]\n");
  inspector.attach(trained.net, trained.optimizer, "net");
  for (int i = 0; i < 3; ++i) trained.step();
  EXPECT_ANY_THROW(trained.net.forward({torch::randn({6, 2, 5, 5})}));
  trained.step();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      torch::NoGradGuard guard;
      for (int i = 0; i < 10; ++i) trained.forward();
    });
  }
  for (std::thread& each : threads) each.join();
  inspector.tick_epoch();
  EXPECT_TRUE(inspector.value("Output Activations", "net.block.bn1:relu", "activation_rate").has_value());
}

TEST_F(ScriptTaps, ReportTheReturnedResultEvenIfOneBranchTransformsIt) {
  ScriptMaker make;
  torch::jit::Module turned = make.module("Turned");
  turned.register_parameter("weight", ScriptMaker::parameter({3, 4}), false);
  turned.define(
      "def forward(self, x, turns: bool):\n"
      "  y = torch.matmul(x, self.weight)\n"
      "  if turns:\n"
      "    y = torch.transpose(y, 0, 1)\n"
      "  return (y, x)\n");
  torch::jit::Module net = make.module("Net");
  net.register_module("turned", turned);
  net.define(
      "def forward(self, x, turns: bool):\n"
      "  y, z = self.turned.forward(x, turns)\n"
      "  return torch.mul(y, 2.0)\n");
  auto inspector = probed();
  inspector.attach(net);
  for (int i = 0; i < 4; ++i) {
    for (const bool turns : {true, false}) {
      told().clear();
      net.forward({torch::ones({2, 3}), turns});
      const Lines seen = take("forward");
      ASSERT_EQ(forwards_of(seen), (Lines{"forward|turned", "forward|Net"})) << i << turns;
      EXPECT_NE(seen[0].find(turns ? "|4x2|" : "|2x4|"), std::string::npos) << seen[0];
    }
  }
}

TEST_F(ScriptTaps, WarnIfLibTorchFusesOperators) {
  const Fusion on(true);
  std::vector<std::string> said;
  loupe::set_log([&](loupe::LogLevel, const std::string& message) { said.push_back(message); });
  Trained trained;
  {
    auto inspector = probed();
    inspector.attach(trained.net, trained.optimizer);
    std::size_t last = 0;
    for (int i = 0; i < 6; ++i) {
      told().clear();
      trained.step();
      last = take("forward").size();
    }
    const auto count = std::count_if(said.begin(), said.end(), [](const auto& each) {
      return each.find("are no longer visible after the first forward") != std::string::npos;
    });
    EXPECT_EQ(count, last == in_order.size() ? 0 : 1) << last;
    // The warning lists the names of the lost results.
    if (count == 1) {
      const auto told = std::find_if(said.begin(), said.end(), [](const auto& each) {
        return each.find("are no longer visible after the first forward") != std::string::npos;
      });
      EXPECT_NE(told->find("block"), std::string::npos) << *told;
    }
  }
  loupe::set_log({});
}

TEST_F(ScriptTaps, DoNotWarnAboutALoopThatRunsFewerTimes) {
  std::vector<std::string> said;
  loupe::set_log([&](loupe::LogLevel, const std::string& message) { said.push_back(message); });
  ScriptMaker make;
  torch::jit::Module net = make.module("Net");
  net.register_module("cell", make.linear(3, 3));
  net.define(
      "def forward(self, x, n: int):\n"
      "  for i in range(n):\n"
      "    x = torch.tanh(self.cell.forward(x))\n"
      "  return x\n");
  {
    auto inspector = probed();
    inspector.attach(net);
    for (const int64_t turns : {9, 2, 3, 2, 4, 2}) net.forward({torch::ones({2, 3}), turns});
  }
  loupe::set_log({});
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const auto& each) { return each.find("are no longer visible") != std::string::npos; }),
            0);
}

TEST_F(ScriptTaps, DoNotMistakeACountOfBatchesForAnEarlierSum) {
  ScriptMaker make;
  torch::jit::Module block = make.module("Block");
  block.register_module("conv", make.convolution(2, 2, 3));
  block.register_module("short", make.convolution(2, 2, 1));
  block.define("def forward(self, x):\n  return torch.add(self.conv.forward(x), self.short.forward(x))\n");
  torch::jit::Module net = make.module("Net");
  net.register_module("block", block);
  net.register_module("norm", make.batch_norm(2));
  net.define("def forward(self, x):\n  return self.norm.forward(self.block.forward(x))\n");
  auto inspector = probed();
  inspector.attach(net);
  for (int i = 0; i < 5; ++i) {
    told().clear();
    net.forward({torch::ones({3, 2, 5, 5})});
    const Lines seen = take("forward|block|");
    ASSERT_EQ(seen.size(), 1U) << i;
    EXPECT_NE(seen[0].find("|3x2x5x5|"), std::string::npos) << seen[0];
  }
}

TEST_F(ScriptTaps, ThrowTheErrorOfALensAtTheStepIfConfigured) {
  Trained trained;
  auto inspector = probed("fail: 'forward|fc'", "on_error: stop\n");
  inspector.attach(trained.net, trained.optimizer);
  EXPECT_ANY_THROW(trained.step());
  inspector.detach();
  EXPECT_NO_THROW(trained.step());
}

TEST_F(ScriptTaps, ReportAScriptInsideAnAttachedModel) {
  struct Holder : nn::Module {
    torch::jit::Module script;
    nn::Linear head = register_module("head", nn::Linear(3, 2));
    torch::Tensor forward(const torch::Tensor& x) { return head(script.forward({x}).toTensor()); }
  };
  Lines said;
  loupe::set_log([&](loupe::LogLevel, const std::string& message) { said.push_back(message); });
  ScriptMaker make;
  auto holder = std::make_shared<loupe::Tapped<Holder>>();
  holder->script = make.module("InnerNet");
  holder->script.register_module("a", make.linear(3, 3));
  holder->script.define("def forward(self, x):\n  return self.a.forward(x)\n");
  {
    auto inspector = probed();
    inspector.attach(*holder);
    for (int i = 0; i < 2; ++i) holder->forward(torch::ones({2, 3}));
  }
  loupe::set_log({});
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const auto& each) { return each.find("InnerNet") != std::string::npos; }),
            1);
}
