// The trainer of main.cpp without the three lines of Loupe: `loupe run` watches it unchanged.

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>

#include "common/data_file.h"
#include "common/digits.h"
#include "digits/reader.h"

using examples::Digits;
using examples::Reader;
namespace nn = torch::nn;

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 5;
  torch::manual_seed(1);
  const Digits digits = examples::load_digits(examples::digits_file);
  const torch::Tensor shuffled = torch::randperm(digits.count());
  const int64_t training_count = digits.count() * 8 / 10;
  const Digits training = digits.at(shuffled.slice(0, 0, training_count));
  const Digits validation = digits.at(shuffled.slice(0, training_count));

  Reader model;
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    model->train();
    for (const torch::Tensor& batch : torch::randperm(training.count()).split(64)) {
      const Digits digits_of_batch = training.at(batch);
      optimizer.zero_grad();
      nn::functional::cross_entropy(model(digits_of_batch.images), digits_of_batch.labels).backward();
      optimizer.step();
    }
    model->eval();
    const torch::NoGradGuard no_grad;
    const torch::Tensor loss = nn::functional::cross_entropy(model(validation.images), validation.labels);
    std::printf("epoch %2d/%d  validation loss %.4f\n", epoch, epochs, loss.item<double>());
    std::fflush(stdout);
  }
  return 0;
}
