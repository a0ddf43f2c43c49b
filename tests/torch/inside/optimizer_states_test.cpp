// The states that optimizers keep for parameters, which lenses may read while Loupe reports a step.

#include "torch/taps/optimizer_reader.h"

#include <gtest/gtest.h>
#include <loupe/error.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "services/services.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

using States = std::map<std::string, at::Tensor>;

/// The states that the service lends for a parameter; they share memory. Throws Error if the service refuses.
States lent_of(const loupe_tensor* parameter) {
  States states;
  const auto take = [](void* context, const char* name, const loupe_tensor* state) {
    static_cast<States*>(context)->emplace(name, native_tensor(state).detach());
  };
  detail::ErrorBuffer error;
  error.check(optimizer_state_service().lend(nullptr, parameter, take, &states, error.get()));
  return states;
}
States lent_of(const at::Tensor& parameter) {
  return lent_of(TorchTensorView(parameter).get());
}

std::vector<std::string> names_of(const States& states) {
  std::vector<std::string> names;
  for (const auto& [name, state] : states) names.push_back(name);
  return names;
}

template <class Call>
loupe_status refusal_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return LOUPE_OK;
}

class OptimizerStates : public ::testing::Test {
 protected:
  void step(torch::optim::Optimizer& optimizer) {
    optimizer.step([&] {
      optimizer.zero_grad();
      at::Tensor loss = (parameter * parameter).sum();
      loss.backward();
      return loss;
    });
  }
  /// The names of the lent states after this many steps.
  std::vector<std::string> names_after(int steps, torch::optim::Optimizer& optimizer) {
    for (int i = 0; i < steps; ++i) step(optimizer);
    const SteppedOptimizer stepped(optimizer);
    return names_of(lent_of(parameter));
  }

  at::Tensor parameter = torch::ones({2, 3}, torch::requires_grad());
  std::vector<at::Tensor> parameters{parameter};
};

using Names = std::vector<std::string>;

TEST_F(OptimizerStates, HaveTheNamesOfEachOptimizerTypeOfLibTorch) {
  using namespace torch::optim;
  SGD sgd(parameters, SGDOptions(0.1).momentum(0.9));
  EXPECT_EQ(names_after(2, sgd), (Names{"momentum_buffer"}));
  Adam adam(parameters);
  EXPECT_EQ(names_after(2, adam), (Names{"exp_avg", "exp_avg_sq", "step"}));
  AdamW adamw(parameters, AdamWOptions().amsgrad(true));
  EXPECT_EQ(names_after(2, adamw), (Names{"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"}));
  RMSprop rmsprop(parameters, RMSpropOptions(0.1).momentum(0.9).centered(true));
  EXPECT_EQ(names_after(2, rmsprop), (Names{"grad_avg", "momentum_buffer", "square_avg", "step"}));
  Adagrad adagrad(parameters);
  EXPECT_EQ(names_after(0, adagrad), (Names{"step", "sum"})) << "Adagrad has states before its first step";
  LBFGS lbfgs(parameters, LBFGSOptions(0.01).max_iter(3));
  const Names names = names_after(2, lbfgs);
  for (const char* name : {"H_diag", "d", "old_dirs[0]", "old_stps[0]", "prev_flat_grad"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
}

TEST_F(OptimizerStates, ShareMemoryWithLaterStepsExceptTheCountOfSteps) {
  torch::optim::Adam adam(parameters);
  step(adam);
  States first;
  {
    const SteppedOptimizer stepped(adam);
    first = lent_of(parameter);
  }
  EXPECT_EQ(first.at("exp_avg").sizes(), parameter.sizes());
  const at::Tensor before = first.at("exp_avg").clone();
  step(adam);
  const SteppedOptimizer stepped(adam);
  const States second = lent_of(parameter);
  EXPECT_FALSE(before.equal(second.at("exp_avg")));
  EXPECT_TRUE(first.at("exp_avg").equal(second.at("exp_avg")));
  EXPECT_EQ(first.at("step").item<int64_t>(), 1);
  EXPECT_EQ(second.at("step").item<int64_t>(), 2);
}

TEST_F(OptimizerStates, AreNotFoundIfTheOptimizerKeepsNoneForTheParameter) {
  torch::optim::SGD plain(parameters, 0.1);
  step(plain);
  torch::optim::Adam adam(parameters);
  {
    const SteppedOptimizer stepped(plain);
    EXPECT_EQ(refusal_of([&] { lent_of(parameter); }), LOUPE_NOT_FOUND);
  }
  const SteppedOptimizer stepped(adam);
  EXPECT_EQ(refusal_of([&] { lent_of(parameter); }), LOUPE_NOT_FOUND) << "Adam has no states before its first step";
  step(adam);
  EXPECT_EQ(refusal_of([&] { lent_of(parameter); }), LOUPE_OK);
  EXPECT_EQ(refusal_of([&] { lent_of(torch::ones({2, 3})); }), LOUPE_NOT_FOUND) << "not its parameter";
}

TEST_F(OptimizerStates, BelongToTheOptimizerWhoseStepIsReportedOnThisThread) {
  torch::optim::Adam adam(parameters);
  step(adam);
  EXPECT_EQ(refusal_of([&] { lent_of(parameter); }), LOUPE_NOT_FOUND);
  const SteppedOptimizer stepped(adam);
  {
    torch::optim::SGD inner(parameters, torch::optim::SGDOptions(0.1).momentum(0.9));
    step(inner);
    const SteppedOptimizer stepped_inside(inner);
    EXPECT_EQ(names_of(lent_of(parameter)), (Names{"momentum_buffer"}));
  }
  EXPECT_EQ(names_of(lent_of(parameter)), (Names{"exp_avg", "exp_avg_sq", "step"}));
  loupe_status elsewhere = LOUPE_OK;
  std::thread([&] { elsewhere = refusal_of([&] { lent_of(parameter); }); }).join();
  EXPECT_EQ(elsewhere, LOUPE_NOT_FOUND);
}

TEST_F(OptimizerStates, AreNotLentWithoutATensorOrAReceiver) {
  torch::optim::Adam adam(parameters);
  step(adam);
  const SteppedOptimizer stepped(adam);
  EXPECT_EQ(refusal_of([&] { lent_of(nullptr); }), LOUPE_UNSUPPORTED);
  const TorchTensorView view(parameter);
  loupe_tensor foreign = *view.get();
  foreign.native = nullptr;
  EXPECT_EQ(refusal_of([&] { lent_of(&foreign); }), LOUPE_UNSUPPORTED);
  detail::ErrorBuffer error;
  EXPECT_EQ(optimizer_state_service().lend(nullptr, view.get(), nullptr, nullptr, error.get()), LOUPE_INVALID);
}

}  // namespace
}  // namespace loupe
