// CMake compiles this file as C++17, as most trainers do with their code.

#include <loupe/difference_monitor.h>
#include <loupe/inspector.h>
#include <loupe/recorders.h>
#include <loupe/reducers.h>
#include <loupe/tapped.h>

#include "torch/probed.h"

#if __cplusplus > 201703L && TORCH_VERSION_MAJOR == 1
#error "this file shows that C++17 is enough, and is to be compiled so"
#endif

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

struct ConstImpl : nn::Module {
  torch::Tensor forward(const torch::Tensor& x) const { return x + 1; }
};
struct NoexceptImpl : nn::Module {
  virtual torch::Tensor forward(torch::Tensor x) noexcept { return x + 1; }
};
struct ConstNoexceptImpl : nn::Module {
  torch::Tensor forward(torch::Tensor x) const noexcept { return x + 1; }
};
struct DefaultsImpl : nn::Module {
  torch::Tensor forward(torch::Tensor x, double scale = 2, torch::Tensor mask = {}) {
    return mask.defined() ? x * scale * mask : x * scale;
  }
};
struct ToldDefaultsImpl : nn::Module {
  torch::Tensor forward(torch::Tensor x, double scale = 2) { return x * scale; }

 protected:
// LibTorch's macro leaves its last argument out, which only C++20 allows.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
  FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(2.0)})
#pragma GCC diagnostic pop
};
struct OverloadsImpl : nn::Module {
  torch::Tensor forward(torch::Tensor x) { return x + 1; }
  torch::Tensor forward(torch::Tensor x, torch::Tensor y) const { return x + y; }
};
struct ListsImpl : nn::Module {
  std::vector<torch::Tensor> forward(const std::vector<torch::Tensor>& all) { return {all[0] + all[1], all[1]}; }
};
struct PairsImpl : nn::Module {
  std::pair<torch::Tensor, int> forward(std::tuple<torch::Tensor, torch::Tensor> both, c10::optional<torch::Tensor>) {
    return {std::get<0>(both), 1};
  }
};
struct NothingImpl : nn::Module {
  void forward(std::string) {}
};
template <int Size, class Type>
struct TemplateImpl : nn::Module {
  torch::Tensor forward(torch::Tensor x) { return x + Size; }
};

template <class Impl>
class Watched {
 public:
  Watched() {
    inspector_.attach(*model);
    told().clear();
  }
  std::shared_ptr<loupe::Tapped<Impl>> model = std::make_shared<loupe::Tapped<Impl>>();

 private:
  loupe::Inspector inspector_ = probed();
};

Lines forwards() {
  Lines cut;
  for (const std::string& line : take("forward")) cut.push_back(fields(line, 2) + line.substr(line.rfind('|')));
  return cut;
}

}  // namespace

TEST(Tapped, SeesConstAndNoexceptForwards) {
  const auto x = torch::ones({2});
  Watched<ConstImpl> constant;
  const auto& const_model = *constant.model;
  const_model.forward(x);
  EXPECT_EQ(forwards(), Lines{"forward|Const|1>1"});
  Watched<NoexceptImpl> no_exception;
  static_cast<NoexceptImpl&>(*no_exception.model).forward(x);  // also seen through its base, as it is virtual
  EXPECT_EQ(forwards(), Lines{"forward|Noexcept|1>1"});
  Watched<ConstNoexceptImpl> both;
  both.model->forward(x);
  EXPECT_EQ(forwards(), Lines{"forward|ConstNoexcept|1>1"});
}

TEST(Tapped, SeesForwardsWithDefaultArguments) {
  Watched<DefaultsImpl> model;
  EXPECT_EQ(model.model->forward(torch::ones({2})).sum().item<double>(), 4);
  EXPECT_EQ(model.model->forward(torch::ones({2}), 3, torch::ones({2})).sum().item<double>(), 6);
  EXPECT_EQ(forwards(), (Lines{"forward|Defaults|1>1", "forward|Defaults|2>1"}));
}

TEST(Tapped, RunsInASequentialWithDefaultArguments) {
  nn::Sequential model(loupe::Tapped<ToldDefaultsImpl>{}, nn::ReLU());
  auto inspector = probed();
  inspector.attach(*model);
  told().clear();
  EXPECT_EQ(model->forward(torch::ones({2})).sum().item<double>(), 4);
  EXPECT_EQ(forwards(), (Lines{"forward|0|1>1", "forward|1|1>1"}));
}

TEST(Tapped, SeesEveryOverload) {
  Watched<OverloadsImpl> model;
  model.model->forward(torch::ones({2}));
  const auto& const_model = *model.model;
  const_model.forward(torch::ones({2}), torch::ones({2}));
  EXPECT_EQ(forwards(), (Lines{"forward|Overloads|1>1", "forward|Overloads|2>1"}));
}

TEST(Tapped, SeesTensorsInVectorsTuplesPairsAndOptionals) {
  const auto x = torch::ones({2});
  Watched<ListsImpl> lists;
  lists.model->forward({x, x});
  EXPECT_EQ(forwards(), Lines{"forward|Lists|2>2"});
  Watched<PairsImpl> pairs;
  pairs.model->forward(std::make_tuple(x, x), x);
  EXPECT_EQ(forwards(), Lines{"forward|Pairs|3>1"});
  Watched<NothingImpl> nothing;
  nothing.model->forward("no tensor at all");
  EXPECT_EQ(forwards(), Lines{});
}

TEST(Tapped, UsesTheNameOfItsOwnTypeEvenOfATemplate) {
  testing::internal::CaptureStderr();
  Watched<TemplateImpl<3, std::pair<int, char>>> model;
  const std::string summary = testing::internal::GetCapturedStderr();
  EXPECT_NE(summary.find("attached 'Template"), std::string::npos) << summary;
  EXPECT_NE(summary.find("1 of 1 modules tapped"), std::string::npos) << summary;
}
