// Calls each function that has a tap as programs call it. The test fails if the headers of a LibTorch version call a
// function without a tap.

#include <algorithm>
#include <functional>
#include <map>

#include "torch/probed.h"
#include "torch/taps/tap_lists.h"

namespace {

using torch::Tensor;
using Call = std::function<Tensor(Tensor)>;
using namespace loupe::testing;

#if !LOUPE_TORCH_AT_LEAST(2, 7)
at::Dimname dimname(const char* name) {
  return at::Dimname::fromSymbol(at::Symbol::dimname(name));
}
#endif

/// Maps the name of an operator in the table to the most usual way to call it.
const std::map<std::string, Call>& calls() {
  static const std::map<std::string, Call> all = {
#if !LOUPE_TORCH_AT_LEAST(2, 7)
    {"softmax_Dimname",
     [](Tensor x) {
       return x.rename(std::vector<at::Dimname>{dimname("a"), dimname("b")}).softmax(dimname("b"));
     }},
    {"log_softmax_Dimname",
     [](Tensor x) {
       return x.rename(std::vector<at::Dimname>{dimname("a"), dimname("b")}).log_softmax(dimname("b"));
     }},
#endif
    {"relu", [](Tensor x) { return torch::relu(x); }},
    {"relu_", [](Tensor x) { return x.relu_(); }},
    {"gelu", [](Tensor x) { return torch::gelu(x); }},
    {"gelu_", [](Tensor x) { return torch::gelu_(x); }},
    {"relu6", [](Tensor x) { return torch::relu6(x); }},
    {"relu6_", [](Tensor x) { return torch::relu6_(x); }},
    {"leaky_relu", [](Tensor x) { return torch::leaky_relu(x); }},
    {"leaky_relu_", [](Tensor x) { return torch::leaky_relu_(x); }},
    {"elu", [](Tensor x) { return torch::elu(x); }},
    {"elu_", [](Tensor x) { return torch::elu_(x); }},
    {"selu", [](Tensor x) { return torch::selu(x); }},
    {"selu_", [](Tensor x) { return torch::selu_(x); }},
    {"celu", [](Tensor x) { return torch::celu(x); }},
    {"celu_", [](Tensor x) { return torch::celu_(x); }},
    {"silu", [](Tensor x) { return torch::silu(x); }},
    {"silu_", [](Tensor x) { return torch::silu_(x); }},
    {"mish", [](Tensor x) { return torch::mish(x); }},
    {"mish_", [](Tensor x) { return torch::mish_(x); }},
    {"sigmoid", [](Tensor x) { return torch::sigmoid(x); }},
    {"sigmoid_", [](Tensor x) { return x.sigmoid_(); }},
    {"special_expit", [](Tensor x) { return torch::special::expit(x); }},
    {"tanh", [](Tensor x) { return torch::tanh(x); }},
    {"tanh_", [](Tensor x) { return x.tanh_(); }},
    {"softplus", [](Tensor x) { return torch::softplus(x); }},
    {"softshrink", [](Tensor x) { return torch::softshrink(x); }},
    {"hardshrink", [](Tensor x) { return torch::hardshrink(x); }},
    {"hardtanh", [](Tensor x) { return torch::hardtanh(x); }},
    {"hardtanh_", [](Tensor x) { return torch::hardtanh_(x); }},
    {"hardswish", [](Tensor x) { return torch::hardswish(x); }},
    {"hardswish_", [](Tensor x) { return torch::hardswish_(x); }},
    {"hardsigmoid", [](Tensor x) { return torch::hardsigmoid(x); }},
    {"hardsigmoid_", [](Tensor x) { return torch::hardsigmoid_(x); }},
    {"prelu", [](Tensor x) { return torch::prelu(x, torch::full({1}, 0.1)); }},
    {"rrelu", [](Tensor x) { return torch::rrelu(x); }},
    {"rrelu_", [](Tensor x) { return torch::rrelu_(x); }},
    {"glu", [](Tensor x) { return torch::glu(x); }},
    {"log_sigmoid", [](Tensor x) { return torch::log_sigmoid(x); }},
    {"softmax_int", [](Tensor x) { return torch::softmax(x, 1); }},
    {"special_softmax", [](Tensor x) { return torch::special::softmax(x, 1, c10::nullopt); }},
    {"log_softmax_int", [](Tensor x) { return torch::log_softmax(x, 1); }},
    {"special_log_softmax", [](Tensor x) { return torch::special::log_softmax(x, 1, c10::nullopt); }},
    {"threshold", [](Tensor x) { return torch::threshold(x, 0, 0); }},
    {"threshold_", [](Tensor x) { return torch::threshold_(x, 0, 0); }},
    {"clamp", [](Tensor x) { return torch::clamp(x, 0, 6); }},
    {"clamp_", [](Tensor x) { return x.clamp_(0, 6); }},
    {"clamp_min", [](Tensor x) { return torch::clamp_min(x, 0); }},
    {"clamp_min_", [](Tensor x) { return x.clamp_min_(0); }},
    {"maximum", [](Tensor x) { return torch::maximum(x, torch::zeros_like(x)); }},
    {"max_other", [](Tensor x) { return torch::max(x, torch::zeros_like(x)); }},
    {"dropout", [](Tensor x) { return torch::dropout(x, 0.5, true); }},
    {"dropout_", [](Tensor x) { return torch::dropout_(x, 0.5, true); }},
    {"feature_dropout", [](Tensor x) { return torch::feature_dropout(x, 0.5, true); }},
    {"feature_dropout_", [](Tensor x) { return torch::feature_dropout_(x, 0.5, true); }},
    {"alpha_dropout", [](Tensor x) { return torch::alpha_dropout(x, 0.5, true); }},
    {"alpha_dropout_", [](Tensor x) { return torch::alpha_dropout_(x, 0.5, true); }},
    {"feature_alpha_dropout", [](Tensor x) { return torch::feature_alpha_dropout(x, 0.5, true); }},
    {"feature_alpha_dropout_", [](Tensor x) { return torch::feature_alpha_dropout_(x, 0.5, true); }},
  };
  return all;
}

}  // namespace

TEST(FunctionTaps, AreReachedFromEveryFunctionThatLibTorchsHeadersOffer) {
  struct Net : torch::nn::Module {
    torch::nn::Linear fc = register_module("fc", torch::nn::Linear(4, 4));
  } model;
  auto inspector = probed();
  inspector.attach(model);
  const auto expect_seen = [&](const std::string& name) {
    const auto call = calls().find(name);
    ASSERT_NE(call, calls().end()) << name << " has a tap, but this test has no call for it";
    const Tensor x = model.fc(torch::ones({2, 4})).detach();
    told().clear();
    call->second(x);
    const Lines seen = take("forward");
    EXPECT_EQ(seen.size(), 1U) << name << " is no longer redirected at the program's call";
  };
#define EXPECT_SEEN(KIND, OPERATOR) expect_seen(#OPERATOR);
  LOUPE_FUNCTIONS_EVERYWHERE(EXPECT_SEEN)
  LOUPE_FUNCTIONS(EXPECT_SEEN)
}
