// How functions get names from modules, and which functions count as part of the model.

#include <loupe/tapped.h>

#include <set>
#include <thread>

#include "torch/probed.h"

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

struct NetImpl : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(3, 3));
  nn::Linear fc2 = register_module("fc2", nn::Linear(3, 3));
  NOT_INLINED torch::Tensor forward(torch::Tensor x) {
    x = torch::tanh(x);
    x = torch::relu(fc1(x));
    return fc2(x);
  }
};
TORCH_MODULE(Net);

const Lines forward_of_net = {"forward|Net:tanh", "forward|fc1", "forward|fc1:relu", "forward|fc2"};

Lines forwards() {
  return fields(take("forward"), 2);
}

/// A function of the trainer outside of the model.
NOT_INLINED torch::Tensor trainers_own(const torch::Tensor& x) {
  return torch::relu(torch::tanh(x));
}

}  // namespace

TEST(Naming, BeginsAtTheModelsEntryFromTheFirstForwardOn) {
  Net model;
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  auto inspector = probed();
  inspector.attach(*model, optimizer);
  for (int step = 0; step < 3; ++step) {
    told().clear();
    model(torch::randn({2, 3})).sum().backward();
    EXPECT_EQ(forwards(), forward_of_net) << step;
    optimizer.step();
  }
}

TEST(Naming, GivesTheFullPlaceOfAModuleBeforeTheFirstVisit) {
  Net model;
  auto inspector = probed();
  inspector.attach(*model);
  EXPECT_EQ(take("place"), (Lines{"place|Net|none|3 modules", "place|fc1|Net|3 modules", "place|fc2|Net|3 modules"}));
  model(torch::randn({2, 3}));
  EXPECT_EQ(take("place"), (Lines{"place|Net:tanh|Net|3 modules", "place|fc1:relu|fc1|3 modules"}));
}

TEST(Naming, GivesALossNoModel) {
  nn::MSELoss loss;
  auto inspector = probed();
  inspector.attach_loss(*loss, "loss");
  EXPECT_EQ(take("place"), Lines{"place|loss|none|no model"});
}

TEST(Naming, SeparatesForwardsWithNothingBetweenThem) {
  Net model;
  auto inspector = probed();
  inspector.attach(*model);
  for (int pass = 0; pass < 3; ++pass) {
    told().clear();
    model(torch::randn({2, 3}));
    EXPECT_EQ(forwards(), forward_of_net) << pass;
  }
  torch::NoGradGuard no_grad;
  for (int pass = 0; pass < 3; ++pass) {
    told().clear();
    model(torch::randn({2, 3}));
    EXPECT_EQ(forwards(), forward_of_net) << pass;
  }
}

TEST(Naming, EndsWithTheModelsExit) {
  Net model;
  auto inspector = probed();
  inspector.attach(*model);
  for (int pass = 0; pass < 3; ++pass) {
    told().clear();
    trainers_own(model(trainers_own(torch::randn({2, 3}))));
    torch::softmax(torch::ones({2, 3}), 1);
    EXPECT_EQ(forwards(), forward_of_net) << pass;
  }
}

TEST(Naming, BeginsWithTheModelsOwnNameWhereItHasOne) {
  Net first, second;
  auto inspector = probed();
  inspector.attach(*first, "first");
  inspector.attach(*second, "second");
  told().clear();
  for (int pass = 0; pass < 2; ++pass) {
    second(first(torch::randn({2, 3})));
    EXPECT_EQ(forwards(),
              (Lines{"forward|first:tanh", "forward|first.fc1", "forward|first.fc1:relu", "forward|first.fc2",
                     "forward|second:tanh", "forward|second.fc1", "forward|second.fc1:relu", "forward|second.fc2"}))
        << pass;
  }
}

TEST(Naming, KeepsFunctionsOfTheSamePlaceInALoopAfterTheirModules) {
  struct Loop : nn::Module {
    nn::Linear a = register_module("a", nn::Linear(3, 3)), b = register_module("b", nn::Linear(3, 3));
    NOT_INLINED torch::Tensor forward(torch::Tensor x) {
      for (auto* each : {&a, &b}) x = (*each)(torch::tanh(x));
      return torch::tanh(x);
    }
  } model;
  auto inspector = probed();
  inspector.attach(model);
  for (int pass = 0; pass < 3; ++pass) {
    told().clear();
    model.forward(torch::randn({2, 3}));
    EXPECT_EQ(forwards(), (Lines{"forward|Loop:tanh", "forward|a", "forward|a:tanh", "forward|b", "forward|b:tanh"}))
        << pass;
  }
}

TEST(Naming, OfAModelWithoutModulesUsesTheModelsName) {
  struct Raw : nn::Module {
    torch::Tensor w1 = register_parameter("w1", torch::randn({3, 3})), w2 = register_parameter("w2", torch::ones({3}));
    NOT_INLINED torch::Tensor forward(const torch::Tensor& x) { return torch::sigmoid(torch::relu(x.mm(w1)).mv(w2)); }
  } model;
  auto inspector = probed();
  inspector.attach(model);
  for (int pass = 0; pass < 2; ++pass) {
    told().clear();
    trainers_own(model.forward(torch::randn({2, 3})));
    EXPECT_EQ(forwards(), (Lines{"forward|Raw:relu", "forward|Raw:sigmoid"})) << pass;
  }
}

TEST(Naming, InsideATappedModuleBeginsWithTheModuleItself) {
  struct GateImpl : nn::Module {
    nn::Linear inner = register_module("inner", nn::Linear(3, 3));
    torch::Tensor forward(torch::Tensor x) { return torch::tanh(inner(torch::relu(x))); }
  };
  struct LeafImpl : nn::Module {
    torch::Tensor weight = register_parameter("weight", torch::ones({1}));
    torch::Tensor forward(torch::Tensor x) { return torch::sigmoid(x * weight); }
  };
  struct Outer : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(3, 3));
    nn::ModuleHolder<loupe::Tapped<LeafImpl>> leaf{
        register_module("leaf", std::make_shared<loupe::Tapped<LeafImpl>>())};
    nn::ModuleHolder<loupe::Tapped<GateImpl>> gate{
        register_module("gate", std::make_shared<loupe::Tapped<GateImpl>>())};
    NOT_INLINED torch::Tensor forward(torch::Tensor x) {
      return torch::relu(gate(torch::relu(leaf(torch::relu(first(x))))));
    }
  } model;
  auto inspector = probed();
  inspector.attach(model);
  for (int pass = 0; pass < 2; ++pass) {
    told().clear();
    model.forward(torch::randn({2, 3}));
    EXPECT_EQ(forwards(), (Lines{"forward|first", "forward|first:relu", "forward|leaf:sigmoid", "forward|leaf",
                                 "forward|leaf:relu", "forward|gate:relu", "forward|gate.inner",
                                 "forward|gate.inner:tanh", "forward|gate", "forward|gate:relu#2"}))
        << pass;
  }
}

TEST(Naming, OfATappedModelEndsWithItsForward) {
  struct WholeImpl : nn::Module {
    nn::Linear fc = register_module("fc", nn::Linear(3, 3));
    torch::Tensor forward(torch::Tensor x) { return torch::relu(fc(torch::tanh(x))); }
  };
  nn::ModuleHolder<loupe::Tapped<WholeImpl>> model;
  model = nn::ModuleHolder<loupe::Tapped<WholeImpl>>(std::make_shared<loupe::Tapped<WholeImpl>>());
  auto inspector = probed();
  inspector.attach(*model);
  for (int pass = 0; pass < 2; ++pass) {
    told().clear();
    torch::relu(model(torch::relu(torch::randn({2, 3}))));
    EXPECT_EQ(forwards(), (Lines{"forward|Whole:tanh", "forward|fc", "forward|fc:relu", "forward|Whole"})) << pass;
  }
}

TEST(Naming, DelaysOnlyAFewFunctionsUntilTheirModelIsKnown) {
  struct Long : nn::Module {
    nn::Linear fc = register_module("fc", nn::Linear(3, 3));
    NOT_INLINED torch::Tensor forward(torch::Tensor x) {
      for (int i = 0; i < 40; ++i) x = torch::tanh(x);
      return fc(x);
    }
  } model;
  auto inspector = probed();
  inspector.attach(model);
  told().clear();
  ::testing::internal::CaptureStderr();
  model.forward(torch::randn({2, 3}));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(forwards().size(), 17U);
  EXPECT_NE(said.find("more than 16 functions are called in a model before its first module"), std::string::npos);
}

TEST(Naming, IsTheSameOnEveryThread) {
  Net model;
  auto inspector = probed();
  inspector.attach(*model);
  for (int time = 0; time < 2; ++time) {
    told().clear();
    std::thread([&] {
      model(torch::randn({2, 3}));
      model(torch::randn({2, 3}));
    }).join();
    Lines twice = forward_of_net;
    twice.insert(twice.end(), forward_of_net.begin(), forward_of_net.end());
    EXPECT_EQ(forwards(), twice);
  }
}

TEST(UnregisteredModules, WithoutParametersCountLikeFunctions) {
  struct Yolo : nn::Module {
    nn::Conv2d conv = register_module("conv", nn::Conv2d(1, 2, 1));
    nn::MaxPool2d pool{nn::MaxPool2dOptions(2)};
    nn::LeakyReLU leaky{nn::LeakyReLUOptions().inplace(true)};
    NOT_INLINED torch::Tensor forward(torch::Tensor x) {
      x = torch::relu(pool(conv(x)));
      return nn::Sigmoid()(leaky(conv(torch::cat({x, x}, 1).sum(1, true))));
    }
  } model;
  auto inspector = probed();
  inspector.attach(model);
  for (int pass = 0; pass < 2; ++pass) {
    told().clear();
    const auto output = model.forward(torch::randn({2, 1, 4, 4}));
    nn::Sigmoid()(output);  // the trainer's own sigmoid
    const Lines seen = take("forward");
    EXPECT_EQ(fields(seen, 2), (Lines{"forward|conv", "forward|conv:relu", "forward|conv", "forward|conv:leaky_relu",
                                      "forward|conv:sigmoid"}))
        << pass;
    EXPECT_NEAR(number(seen.back(), 6), output.square().sum().item<double>(), 1e-4);
  }
}

TEST(UnregisteredModules, WithParametersThatNobodyTrainsAreNamedOnce) {
  struct Forgetful : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(3, 3));
    nn::Linear forgotten{3, 3};
    nn::Linear last = register_module("last", nn::Linear(3, 3));
    NOT_INLINED torch::Tensor forward(torch::Tensor x) { return last(forgotten(first(x))); }
  } model;
  torch::optim::SGD optimizer(model.parameters(), 0.1);
  auto inspector = probed();
  inspector.attach(model, optimizer);
  ::testing::internal::CaptureStderr();
  for (int step = 0; step < 6; ++step) {
    model.forward(torch::randn({2, 3})).sum().backward();
    optimizer.step();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a module of type Linear that runs after 'first'"), std::string::npos) << said;
  EXPECT_NE(said.find("register_module"), std::string::npos) << said;
  EXPECT_EQ(said.find("never trained"), said.rfind("never trained")) << said;
}

TEST(UnregisteredModules, AreEachNamedEvenIfThereAreMany) {
  constexpr std::size_t count = 40;
  // At equal distances, as an allocator may place them.
  struct alignas(65536) Placed {
    nn::LinearImpl layer{3, 3};
  };
  struct Forgetful : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(3, 3));
    std::vector<Placed> forgotten = std::vector<Placed>(count);
    NOT_INLINED torch::Tensor forward(torch::Tensor x) {
      x = first(x);
      for (Placed& each : forgotten) x = x + each.layer.forward(x);
      return x;
    }
  } model;
  torch::optim::SGD optimizer(model.parameters(), 1e-3);
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  inspector.attach(model, optimizer);
  ::testing::internal::CaptureStderr();
  for (int step = 0; step < 3; ++step) {
    model.forward(torch::randn({2, 3})).mean().backward();
    optimizer.step();
  }
  // The finding stays open.
  for (int epoch = 0; epoch < 8; ++epoch) inspector.tick_epoch();
  ::testing::internal::GetCapturedStderr();
  std::vector<loupe::Finding> told;
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == "unregistered_module" && each.state != LOUPE_FINDING_GONE) told.push_back(each);
  }
  ASSERT_EQ(told.size(), 1U) << "all modules of one type are reported in one message";
  EXPECT_EQ(told[0].layer, "first:Linear");
  EXPECT_EQ(told[0].message.rfind(std::to_string(count) + " modules of type Linear run ('first:Linear', ", 0), 0U)
      << told[0].message;
  EXPECT_EQ(told[0].advice.rfind("register them with register_module", 0), 0U) << told[0].advice;
}

TEST(UnregisteredModules, AreCountedAndLoggedOnceAlthoughOtherModelsComeAndGo) {
  struct Forgetful : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(3, 3));
    std::vector<nn::Linear> forgotten{nn::Linear(3, 3), nn::Linear(3, 3)};
    NOT_INLINED torch::Tensor forward(torch::Tensor x) { return forgotten[1](forgotten[0](first(x))); }
  } model;
  torch::optim::SGD optimizer(model.parameters(), 1e-3);
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  inspector.attach(model, optimizer);
  ::testing::internal::CaptureStderr();
  for (int epoch = 0; epoch < 3; ++epoch) {
    nn::Linear other(3, 3);
    auto others = probed();
    others.attach(*other);
    for (int step = 0; step < 6; ++step) {
      model.forward(torch::randn({2, 3})).mean().backward();
      optimizer.step();
    }
    inspector.tick_epoch();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("never trained"), std::string::npos) << said;
  EXPECT_EQ(said.find("never trained"), said.rfind("never trained")) << said;
  std::string last;
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == "unregistered_module") last = each.message;
  }
  EXPECT_EQ(last.rfind("2 modules of type Linear run (", 0), 0U) << last;
}

/// Two models of one class, whose layers run in the same code. Only one is attached.
struct Twin : nn::Module {
  nn::Embedding words = register_module("words", nn::Embedding(2000, 8));
  nn::Linear last = register_module("last", nn::Linear(8, 3));
  NOT_INLINED torch::Tensor forward(torch::Tensor x) { return last(words(x)); }
};

/// The messages that Loupe prints while both models are trained.
template <class Optimizer>
std::string said_of_twins(double rate) {
  Twin model, other;
  torch::optim::SGD optimizer(model.parameters(), 0.1);
  Optimizer others(other.parameters(), rate);
  auto inspector = probed();
  inspector.attach(model, optimizer);
  ::testing::internal::CaptureStderr();
  const auto words = torch::tensor({1, 1, 5});  // most rows get no gradient
  for (int step = 0; step < 6; ++step) {
    optimizer.zero_grad();
    model.forward(words).sum().backward();
    optimizer.step();
    others.zero_grad();
    other.forward(words).sum().backward();
    others.step();
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(UnregisteredModules, OfAModelThatIsNotAttachedAreNotReportedEvenIfTheirValuesStay) {
  EXPECT_EQ(said_of_twins<torch::optim::SGD>(0.1), "");
  EXPECT_EQ(said_of_twins<torch::optim::SGD>(1e-30), "") << "with such a small rate, nothing changes";
  EXPECT_EQ(said_of_twins<torch::optim::Adam>(1e-30), "");
}

TEST(UnregisteredModules, OfAModelThatIsTrainedByHandAreNotReportedEvenIfUnusedValuesStay) {
  Twin model, other;
  torch::optim::SGD optimizer(model.parameters(), 0.1);
  auto inspector = probed();
  inspector.attach(model, optimizer);
  ::testing::internal::CaptureStderr();
  const auto words = torch::arange(100, 2000);
  for (int step = 0; step < 6; ++step) {
    model.forward(words).sum().backward();
    optimizer.step();
    other.forward(words).sum().backward();
    torch::NoGradGuard no_grad;
    for (const auto& parameter : other.parameters()) parameter.sub_(0.1 * parameter.grad());
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(UnregisteredModules, ThatTrainOrBelongToOtherModelsAreNotReported) {
  struct Free : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(3, 3));
    nn::Linear free{3, 3};  // the optimizer gets its parameters separately
    NOT_INLINED torch::Tensor forward(torch::Tensor x) { return free(first(x)); }
  } model;
  Net teacher, critic;
  auto parameters = model.parameters();
  for (const auto& each : model.free->parameters()) parameters.push_back(each);
  torch::optim::SGD optimizer(parameters, 0.1);
  auto inspector = probed();
  inspector.attach(model, optimizer);
  ::testing::internal::CaptureStderr();
  for (int step = 0; step < 6; ++step) {
    torch::Tensor wanted;
    {
      torch::NoGradGuard no_grad;
      wanted = teacher(torch::randn({2, 3}));
    }
    (critic(model.forward(torch::randn({2, 3}))) - wanted).square().sum().backward();
    optimizer.step();
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}
