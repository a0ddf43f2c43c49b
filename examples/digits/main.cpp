// Learns to read handwritten digits with a small convolutional network. The three lines of Loupe are in train().

#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>

#include "common/arguments.h"
#include "common/data_file.h"
#include "common/digits.h"
#include "digits/reader.h"

using examples::Reader;
namespace nn = torch::nn;

struct Validation {
  torch::Tensor loss;
  double accuracy;
};

Validation validate(Reader& model, const examples::Digits& digits) {
  torch::NoGradGuard no_grad;
  model->eval();
  const torch::Tensor scores = model(digits.images);
  return {nn::functional::cross_entropy(scores, digits.labels),
          scores.argmax(1).eq(digits.labels).to(torch::kDouble).mean().item<double>()};
}

void train(const examples::Arguments& arguments) {
  torch::manual_seed(1);
  const examples::Digits digits = examples::load_digits(arguments.data);
  const torch::Tensor shuffled = torch::randperm(digits.count());
  const int64_t training_count = digits.count() * 8 / 10;
  const examples::Digits training = digits.at(shuffled.slice(0, 0, training_count));
  const examples::Digits validation = digits.at(shuffled.slice(0, training_count));

  Reader model;
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));

  auto inspector = loupe::Inspector::from_yaml(arguments.config);
  inspector.attach(*model, optimizer);

  for (int epoch : inspector.epochs(arguments.epochs)) {
    model->train();
    double loss_sum = 0;
    for (const torch::Tensor& batch : torch::randperm(training.count()).split(64)) {
      const examples::Digits digits_of_batch = training.at(batch);
      optimizer.zero_grad();
      const torch::Tensor loss = nn::functional::cross_entropy(model(digits_of_batch.images), digits_of_batch.labels);
      loss.backward();
      optimizer.step();
      inspector.push_loss(loss, /*train=*/true);
      loss_sum += loss.item<double>() * static_cast<double>(batch.size(0));
    }
    const auto [loss, accuracy] = validate(model, validation);
    inspector.push_loss(loss, /*train=*/false);
    inspector.push_metric("accuracy", accuracy);
    std::printf("epoch %2d/%d  loss %.4f  validation loss %.4f  accuracy %.1f %%\n", epoch, arguments.epochs,
                loss_sum / static_cast<double>(training.count()), loss.item<double>(), 100 * accuracy);
    std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  const auto arguments = examples::read_arguments(argc, argv, "Learns to read handwritten digits.",
                                                  {"configs/digits.yaml", 20, ".", examples::digits_file});
  try {
    train(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
