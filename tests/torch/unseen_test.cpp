#include <loupe/tapped.h>

#include <thread>

#include "torch/probed.h"

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

struct NoisyLinearImpl : nn::LinearImpl {
  using nn::LinearImpl::LinearImpl;
  torch::Tensor forward(const torch::Tensor& x) { return torch::mm(x, weight.t()) + bias; }
};
TORCH_MODULE(NoisyLinear);

/// A different type that runs LibTorch's own forward.
struct RenamedLinearImpl : nn::LinearImpl {
  using nn::LinearImpl::LinearImpl;
};
TORCH_MODULE(RenamedLinear);

struct GainImpl : nn::Module {
  torch::Tensor gain = register_parameter("gain", torch::ones({1}));
  torch::Tensor forward(const torch::Tensor& x) { return x * gain; }
};
TORCH_MODULE(Gain);

/// The messages at the first tick after `run`.
template <class Model, class Run>
std::string said_at_the_tick(Model& model, Run&& run) {
  auto inspector = probed();
  inspector.attach(model);
  run();
  ::testing::internal::CaptureStderr();
  inspector.tick_epoch();
  const std::string first = ::testing::internal::GetCapturedStderr();
  run();
  ::testing::internal::CaptureStderr();
  inspector.tick_epoch();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the message came twice";
  return first;
}

}  // namespace

TEST(UnseenModules, WithTheirOwnForwardAreNamedAtTheFirstTick) {
  struct Net : nn::Module {
    nn::Linear plain = register_module("plain", nn::Linear(3, 3));
    NoisyLinear noisy = register_module("noisy", NoisyLinear(3, 3));
    RenamedLinear renamed = register_module("renamed", RenamedLinear(3, 3));
    void run() { renamed(noisy(plain(torch::ones({2, 3})))); }
  } model;
  const std::string said = said_at_the_tick(model, [&] { model.run(); });
  EXPECT_NE(said.find("noisy (NoisyLinear): not called, or it has its own forward; use loupe::Tapped<"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("plain ("), std::string::npos) << said;
  EXPECT_EQ(said.find("renamed ("), std::string::npos) << said;
}

TEST(UnseenModules, AreListedAsPerhapsTappedInTheSummary) {
  nn::Sequential model(nn::Linear(3, 3), NoisyLinear(3, 3));
  auto inspector = probed();
  ::testing::internal::CaptureStderr();
  inspector.attach(*model);
  const std::string summary = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(summary.find("2 of 2 modules tapped (1 not certain until the first tick)"), std::string::npos) << summary;
  EXPECT_NE(inspector.coverage().find("1  NoisyLinear  perhaps tapped"), std::string::npos);
}

TEST(UnseenModules, CalledAroundTheirTappedTypeAreNamed) {
  struct Net : nn::Module {
    nn::Linear plain = register_module("plain", nn::Linear(3, 3));
    std::shared_ptr<GainImpl> gain = register_module<GainImpl>("gain", std::make_shared<loupe::Tapped<GainImpl>>());
    void run() { gain->forward(plain(torch::ones({2, 3}))); }
  } model;
  const std::string said = said_at_the_tick(model, [&] { model.run(); });
  EXPECT_NE(said.find("gain (Gain): its loupe::Tapped was bypassed"), std::string::npos) << said;
}

TEST(UnseenModules, ThatNeverRunAreNamed) {
  struct Net : nn::Module {
    nn::Linear used = register_module("used", nn::Linear(3, 3));
    nn::Linear forgotten = register_module("forgotten", nn::Linear(3, 3));
    void run() { used(torch::ones({2, 3})); }
  } model;
  const std::string said = said_at_the_tick(model, [&] { model.run(); });
  EXPECT_NE(said.find("forgotten (Linear): not called"), std::string::npos) << said;
}

TEST(UnseenModules, AreNotReportedInAHealthyModel) {
  struct Block : nn::Module {
    nn::Linear inner = register_module("inner", nn::Linear(4, 4));
  };
  struct Net : nn::Module {
    nn::Linear fc = register_module("fc", nn::Linear(4, 4));
    nn::MultiheadAttention attention = register_module("attention", nn::MultiheadAttention(4, 2));  // uses out_proj
    nn::Dropout dropout = register_module("dropout", nn::Dropout());
    nn::ModuleList list = register_module("list", nn::ModuleList(nn::Linear(4, 4)));
    std::shared_ptr<Block> idle = register_module("idle", std::make_shared<Block>());  // never runs
    void run() {
      auto x = list[0]->as<nn::Linear>()->forward(fc(torch::ones({2, 3, 4})));
      x = std::get<0>(attention(x, x, x));
      if (is_training()) dropout(x);
    }
  } model;
  model.eval();
  EXPECT_EQ(said_at_the_tick(model, [&] { model.run(); }), "");
  model.train();
  EXPECT_EQ(said_at_the_tick(model, [&] { model.run(); }), "");
  EXPECT_EQ(said_at_the_tick(model, [] {}), "") << "no module ran at all";
}

namespace {

struct HeadedImpl : nn::Module {
  nn::Linear body = register_module("body", nn::Linear(3, 3));
  nn::Linear head = register_module("head", nn::Linear(3, 2));
  NOT_INLINED torch::Tensor forward(torch::Tensor x) { return head(body(x)); }
  void put_in_another_head() {
    head = nn::Linear(3, 2);
    replace_module("head", head);
  }
};
TORCH_MODULE(Headed);

}  // namespace

TEST(LateModules, AreNamedOnceAtTheNextTick) {
  Headed model;
  auto inspector = probed();
  inspector.attach(*model);
  ::testing::internal::CaptureStderr();
  inspector.tick_epoch();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  model->put_in_another_head();
  ::testing::internal::CaptureStderr();
  inspector.tick_epoch();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("are not watched: 'head' (torch::nn::LinearImpl); add"), std::string::npos) << said;
  ::testing::internal::CaptureStderr();
  inspector.tick_epoch();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the message came twice";
}

TEST(LateModules, AreNotNamedIfTheyAreAttachedThemselves) {
  Headed model;
  auto inspector = probed();
  inspector.attach(*model);
  model->put_in_another_head();
  inspector.attach(*model->head, "head");
  ::testing::internal::CaptureStderr();
  inspector.tick_epoch();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("are not watched"), std::string::npos) << said;
}

TEST(LateModules, ThatNoOptimizerHoldsAreNotCalledUnregistered) {
  ::testing::internal::CaptureStderr();
  // Each thread remembers modules by their addresses, which modules of earlier tests may have had.
  std::thread([] {
    Headed model;
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    auto inspector = probed();
    inspector.attach(*model, optimizer);
    model->put_in_another_head();
    for (int step = 0; step < 6; ++step) {
      model->forward(torch::randn({2, 3})).sum().backward();
      optimizer.step();
    }
  }).join();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the optimizer does not hold its parameters"), std::string::npos) << said;
  EXPECT_EQ(said.find("no module has registered"), std::string::npos) << said;
}
