// Findings of the lens `health` about clips that leave nothing of the gradients or come before the backward pass, and
// about optimizers with contradictory settings.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;
using torch::optim::SGD;
using torch::optim::SGDOptions;

struct Clipped {
  explicit Clipped(double rate = 0.05) {
    torch::manual_seed(3);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
    optimizer = std::make_unique<SGD>(model->parameters(), rate);
  }
  using Change = std::function<void(const std::vector<torch::Tensor>& parameters)>;
  /// The message of a rule after some epochs; empty if the rule finds nothing.
  /// @param late  runs between backward and step  @param early  runs before backward
  std::string said(const std::string& rule, const Change& late, const Change& early = nullptr) {
    loupe::Inspector inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
    inspector.attach(*model, *optimizer);
    for ([[maybe_unused]] int epoch : inspector.epochs(4)) {
      for (int i = 0; i < 8; ++i) {
        for (torch::Tensor& each : model->parameters()) {
          if (each.grad().defined()) each.mutable_grad().zero_();
        }
        // The targets are independent of the inputs.
        const auto loss = nn::functional::cross_entropy(model->forward(torch::randn({16, 6})), torch::randint(3, {16}));
        if (early) early(model->parameters());
        (scale * loss).backward();
        if (late) late(model->parameters());
        optimizer->step();
        inspector.push_loss(loss, /*train=*/true);
      }
    }
    for (const loupe::Finding& each : inspector.findings()) {
      if (each.rule == rule) return each.message;
    }
    return "";
  }

  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  double scale = 1;  ///< the loss is multiplied by this
};

Clipped::Change scaled(const std::function<double()>& factor) {
  return [factor](const std::vector<torch::Tensor>& parameters) {
    const double by = factor();
    for (torch::Tensor each : parameters) each.mutable_grad().mul_(by);
  };
}
Clipped::Change clipped(double norm) {
  return [norm](const std::vector<torch::Tensor>& parameters) { nn::utils::clip_grad_norm_(parameters, norm); };
}

TEST(Clips, ToAlmostZeroAreReportedWithTheRestOfTheNorm) {
  const std::string said = Clipped().said("tiny_clip", clipped(1e-4));
  EXPECT_NE(said.find("to a norm of 0.0001 although"), std::string::npos) << said;
  EXPECT_NE(said.find(" instead of 0.05"), std::string::npos) << said;
  EXPECT_EQ(Clipped().said("tiny_clip", clipped(0.05)), "") << "a tenth is left";
}

TEST(Clips, AreNotConfusedWithAScaleOrANumberOfSamples) {
  EXPECT_EQ(Clipped().said("tiny_clip", scaled([] { return 1.0 / 4096; })), "");
  EXPECT_EQ(Clipped().said("tiny_clip", scaled([] { return 1.0 / torch::randint(500, 2000, {1}).item<double>(); })), "")
      << "the factor varies between steps";
  Clipped both;
  both.scale = 65536;
  const auto divided_and_clipped = [](const std::vector<torch::Tensor>& parameters) {
    scaled([] { return 1.0 / 65536; })(parameters);
    clipped(0.1)(parameters);
  };
  EXPECT_EQ(both.said("tiny_clip", divided_and_clipped), "") << "the scale explains most of it";
}

TEST(Clips, AreHarmlessWithAdamAboveItsEps) {
  Clipped adam;
  adam.optimizer = std::make_unique<torch::optim::Adam>(adam.model->parameters(), 1e-3);
  EXPECT_EQ(adam.said("tiny_clip", clipped(1e-4)), "");
  Clipped below;
  below.optimizer = std::make_unique<torch::optim::Adam>(below.model->parameters(), 1e-3);
  EXPECT_NE(below.said("tiny_clip", clipped(1e-10)), "");
}

TEST(Clips, BeforeBackwardHaveNoEffectAndAreReported) {
  const std::string said = Clipped().said("early_clip", nullptr, clipped(1.0));
  EXPECT_NE(said.find("before backward(), when they are all 0"), std::string::npos) << said;
  const auto by_value = [](const std::vector<torch::Tensor>& parameters) {
    nn::utils::clip_grad_value_(parameters, 0.5);
  };
  EXPECT_NE(Clipped().said("early_clip", nullptr, by_value), "");
  EXPECT_EQ(Clipped().said("early_clip", clipped(1.0)), "");
  EXPECT_EQ(Clipped().said("early_clip", clipped(1.0), clipped(1.0)), "") << "a second clip comes after backward";
}

using AdamOptions = torch::optim::AdamOptions;

TEST(SettingsOfOptimizers, ThatNoStepReadsAreReported) {
  const auto said = [](bool groups_too, int times) {
    Clipped trainer;
    int step = 0;
    return trainer.said("unused_rate", [&](const std::vector<torch::Tensor>&) {
      if (++step > times) return;
      trainer.optimizer->defaults().set_lr(0.05 / (1 + step));
      if (groups_too) trainer.optimizer->param_groups()[0].options().set_lr(0.05 / (1 + step));
    });
  };
  const std::string always = said(false, 100);
  EXPECT_NE(always.find("but that of its group stays 0.05"), std::string::npos) << always;
  EXPECT_EQ(said(true, 100), "");
  EXPECT_EQ(said(false, 1), "") << "the user may want to add a group later";
}

TEST(SettingsOfOptimizers, WithTheDefaultRateForOneGroupAreReportedAsInfo) {
  double rate = 0;  // the rate that LibTorch gives the biases
  const auto said = [&](AdamOptions of_optimizer, AdamOptions of_biases) {
    Clipped trainer;
    std::vector<torch::Tensor> weights, biases;
    for (const auto& each : trainer.model->parameters()) (each.dim() > 1 ? weights : biases).push_back(each);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(weights);
    groups.emplace_back(biases, std::make_unique<AdamOptions>(of_biases));
    trainer.optimizer = std::make_unique<torch::optim::Adam>(groups, of_optimizer);
    rate = trainer.optimizer->param_groups()[1].options().get_lr();
    return trainer.said("default_rate", nullptr);
  };
  const std::string without = said(AdamOptions(3e-5), AdamOptions().weight_decay(0));
  // A newer LibTorch gives a group without a rate the optimizer's rate.
  const bool is_told = without.find("group 1 of Adam has a learning rate of 0.001") != std::string::npos;
  EXPECT_EQ(is_told, rate == 1e-3) << without;
  EXPECT_EQ(said(AdamOptions(3e-5), AdamOptions(3e-5).weight_decay(0)), "");
  EXPECT_EQ(said(AdamOptions(1e-3), AdamOptions().weight_decay(0)), "");
}

/// A recurrent layer and a head, for inputs of (samples, time, 4) or (time, samples, 4).
struct RecurrentImpl : nn::Module {
  explicit RecurrentImpl(bool batch_first)
      : gru(register_module("gru", nn::GRU(nn::GRUOptions(4, 8).batch_first(batch_first)))),
        head(register_module("head", nn::Linear(8, 2))) {}
  torch::Tensor forward(const torch::Tensor& x) { return head(std::get<0>(gru(x))); }
  nn::GRU gru;
  nn::Linear head;
};
TORCH_MODULE(Recurrent);

std::string said_of(bool batch_first, const std::function<torch::Tensor(Recurrent&)>& loss_of) {
  torch::manual_seed(3);
  Recurrent model(batch_first);
  torch::optim::Adam optimizer(model->parameters(), 1e-3);
  loupe::Inspector inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  inspector.attach(*model, optimizer);
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    loss_of(model).backward();
    optimizer.step();
  }
  inspector.tick_epoch();
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == "batch_not_first") return each.layer + ": " + each.message;
  }
  return "";
}

TEST(RecurrentLayers, WithSamplesInThePlaceOfTimeAreReported) {
  const auto labels = [](int64_t count) { return torch::randint(2, {count}); };
  const auto of_samples = [&](Recurrent& model) {
    return nn::functional::cross_entropy(model(torch::randn({16, 5, 4})).select(1, -1), labels(16));
  };
  const std::string said = said_of(/*batch_first=*/false, of_samples);
  EXPECT_EQ(said.find("gru: 'gru' uses the first dimension of its input as time"), 0U) << said;
  EXPECT_EQ(said_of(/*batch_first=*/true, of_samples), "");
  EXPECT_EQ(said_of(false,
                    [&](Recurrent& model) {
                      return nn::functional::cross_entropy(model(torch::randn({5, 16, 4})).select(0, -1), labels(16));
                    }),
            "");
  EXPECT_EQ(said_of(false,
                    [&](Recurrent& model) {
                      return nn::functional::mse_loss(model(torch::randn({5, 16, 4})), torch::randn({5, 16, 2}));
                    }),
            "")
      << "each time of each sample has a target";
  EXPECT_EQ(said_of(false,
                    [&](Recurrent& model) {
                      return nn::functional::cross_entropy(model(torch::randn({5, 1, 4})).select(1, 0), labels(5));
                    }),
            "")
      << "the batch is one sequence";
}

}  // namespace
