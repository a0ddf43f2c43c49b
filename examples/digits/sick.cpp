// A trainer with one fault, for `loupe run` to find. ../README.md shows the findings.
//   digits_sick FAULT [EPOCHS]

#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/data_file.h"
#include "common/digits.h"

using examples::Digits;
using torch::Tensor;
namespace nn = torch::nn;

namespace {

constexpr int64_t pixels = 64, classes = 10;

/// A healthy trainer. Each fault changes one thing in it.
struct Trainer {
  Digits digits = examples::load_digits(examples::digits_file);
  nn::Sequential model{nn::Flatten(),    nn::Linear(pixels, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(),
                       nn::Dropout(0.2), nn::Linear(64, classes)};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::function<Tensor(const Tensor& output, const Tensor& labels)> loss =
      [](const Tensor& output, const Tensor& labels) { return nn::functional::cross_entropy(output, labels); };
  bool clears_gradients = true, trains_in_eval_mode = false;
  double clip = 0;  // the largest norm of the gradients, or 0 for no limit
  int64_t trained_on = 1400;
  Tensor validated_on = torch::arange(1400, digits.count());

  void use_sgd(double rate) { optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), rate); }
  void use_adam(double rate) { optimizer = std::make_unique<torch::optim::Adam>(model->parameters(), rate); }
};

void make_deep(Trainer& trainer, const std::function<void(nn::Sequential&)>& add_activation, int layers) {
  constexpr int64_t width = 32;
  trainer.model = nn::Sequential(nn::Flatten());
  for (int layer = 0; layer < layers; ++layer) {
    trainer.model->push_back(nn::Linear(layer == 0 ? pixels : width, width));
    add_activation(trainer.model);
  }
  trainer.model->push_back(nn::Linear(width, classes));
}

const std::map<std::string, std::function<void(Trainer&)>> faults = {
    {"vanishing",
     [](Trainer& trainer) {
       make_deep(
           trainer, [](nn::Sequential& model) { model->push_back(nn::Sigmoid()); }, 12);
       trainer.use_sgd(0.1);
     }},
    {"large-weights",
     [](Trainer& trainer) {
       make_deep(
           trainer, [](nn::Sequential& model) { model->push_back(nn::ReLU()); }, 12);
       const torch::NoGradGuard no_gradients;
       for (Tensor& parameter : trainer.model->parameters()) parameter.mul_(6);
       trainer.use_sgd(1e-3);
     }},
    {"nan",
     [](Trainer& trainer) {
       // 0 times the logarithm of 0 is NaN, which happens once the model is sure enough
       trainer.loss = [](const Tensor& output, const Tensor& labels) {
         return -(torch::one_hot(labels, classes) * (output * 20).softmax(1).log()).sum(1).mean();
       };
       trainer.use_adam(0.01);
     }},
    {"missing-pixel",
     [](Trainer& trainer) {
       trainer.digits.images.view({-1, pixels})[700][27] = std::nan("");
     }},
    {"dead-units",
     [](Trainer& trainer) {
       const torch::NoGradGuard no_gradients;
       trainer.model->named_parameters()["3.bias"].fill_(-4);
       trainer.use_sgd(0.05);
     }},
    {"high-rate", [](Trainer& trainer) { trainer.use_adam(0.5); }},
    {"no-zero-grad", [](Trainer& trainer) { trainer.clears_gradients = false; }},
    {"tiny-clip",
     [](Trainer& trainer) {
       trainer.clip = 0.002;
       trainer.use_sgd(0.1);
     }},
    {"collapse",
     [](Trainer& trainer) {
       // pulls the outputs for all images together, and nothing pushes them apart
       trainer.digits.images -= trainer.digits.images.mean(0);
       trainer.loss = [](const Tensor& output, const Tensor&) {
         return -nn::functional::cosine_similarity(output, output.roll(1, 0)).mean();
       };
     }},
    {"shared-rows",
     [](Trainer& trainer) {
       // drawn in a new random order: most of these images are also used for training
       trainer.validated_on = torch::randperm(trainer.digits.count()).slice(0, 1400);
     }},
    {"replaced-layer",
     [](Trainer& trainer) {
       trainer.use_adam(0.001);
       nn::Sequential with_new_head;
       for (auto layer = trainer.model->begin(); layer + 1 != trainer.model->end(); ++layer)
         with_new_head->push_back(*layer);
       with_new_head->push_back(nn::Linear(64, classes));
       trainer.model = with_new_head;
     }},
    {"eval-mode", [](Trainer& trainer) { trainer.trains_in_eval_mode = true; }},
    {"double-softmax", [](Trainer& trainer) { trainer.model->push_back(nn::Softmax(1)); }},
    {"batch-norm-momentum",
     [](Trainer& trainer) {
       trainer.model = nn::Sequential(nn::Flatten(), nn::Linear(pixels, 64),
                                      nn::BatchNorm1d(nn::BatchNorm1dOptions(64).momentum(0.99)), nn::ReLU(),
                                      nn::Linear(64, classes));
     }},
    {"one-class",
     [](Trainer& trainer) {
       // 19 of 20 labels are lost, and read as 0
       Tensor& labels = trainer.digits.labels;
       labels = torch::where(torch::arange(labels.size(0)).remainder(20).eq(0), labels, torch::zeros_like(labels));
     }},
    {"target-scale",
     [](Trainer& trainer) {
       // targets are as large as the prices of houses
       trainer.model = nn::Sequential(nn::Flatten(), nn::Linear(pixels, 64), nn::ReLU(), nn::Linear(64, 1));
       trainer.loss = [](const Tensor& output, const Tensor& labels) {
         return nn::functional::mse_loss(output.squeeze(1), 200000 + 10000 * labels.to(torch::kFloat));
       };
     }},
    {"raw-pixels", [](Trainer& trainer) { trainer.digits.images *= 255; }},
    {"overfitting",
     [](Trainer& trainer) {
       trainer.trained_on = 100;
       trainer.use_adam(0.01);
     }},
    {"none", [](Trainer&) {}},
};

double train(Trainer& trainer) {
  trainer.model->train(!trainer.trains_in_eval_mode);
  double sum = 0;
  for (const Tensor& indices : torch::randperm(trainer.trained_on).split(64)) {
    const Digits batch = trainer.digits.at(indices);
    if (trainer.clears_gradients) trainer.optimizer->zero_grad();
    const Tensor loss = trainer.loss(trainer.model->forward(batch.images), batch.labels);
    loss.backward();
    if (trainer.clip > 0) nn::utils::clip_grad_norm_(trainer.model->parameters(), trainer.clip);
    trainer.optimizer->step();
    sum += loss.item<double>() * static_cast<double>(indices.numel());
  }
  return sum / static_cast<double>(trainer.trained_on);
}

double validate(Trainer& trainer) {
  const torch::NoGradGuard no_gradients;
  trainer.model->eval();
  const Digits batch = trainer.digits.at(trainer.validated_on);
  return trainer.loss(trainer.model->forward(batch.images), batch.labels).item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const auto fault = faults.find(argc > 1 ? argv[1] : "");
  if (fault == faults.end()) {
    std::fprintf(stderr, "usage: digits_sick FAULT [EPOCHS]\nfaults:");
    for (const auto& each : faults) std::fprintf(stderr, " %s", each.first.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 20;
  torch::manual_seed(1);
  Trainer trainer;
  fault->second(trainer);
  if (trainer.optimizer == nullptr) trainer.use_adam(0.001);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double loss = train(trainer);
    std::printf("epoch %2d/%d  loss %.4f  validation %.4f\n", epoch, epochs, loss, validate(trainer));
    std::fflush(stdout);
  }
  return 0;
}
