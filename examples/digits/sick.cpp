// A trainer in which something is wrong, for `loupe run` to find: twelve layers with sigmoids between them.

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>

#include "common/digits.h"

using examples::Digits;
namespace nn = torch::nn;

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 20;
  torch::manual_seed(1);
  const Digits digits = examples::load_digits(LOUPE_EXAMPLES_DIGITS);

  nn::Sequential model;
  model->push_back(nn::Flatten());
  constexpr int layers = 12, width = 32;
  for (int layer = 0; layer < layers; ++layer) {
    model->push_back(nn::Linear(layer == 0 ? digits.images[0].numel() : width, width));
    model->push_back(nn::Sigmoid());
  }
  model->push_back(nn::Linear(width, 10));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    model->train();
    double sum = 0;
    for (const torch::Tensor& batch : torch::randperm(digits.count()).split(64)) {
      const Digits digits_of_batch = digits.at(batch);
      optimizer.zero_grad();
      const torch::Tensor loss =
          nn::functional::cross_entropy(model->forward(digits_of_batch.images), digits_of_batch.labels);
      loss.backward();
      optimizer.step();
      sum += loss.item<double>() * static_cast<double>(batch.numel());
    }
    std::printf("epoch %2d/%d  loss %.4f\n", epoch, epochs, sum / static_cast<double>(digits.count()));
    std::fflush(stdout);
  }
  return 0;
}
