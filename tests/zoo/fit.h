#pragma once

#include <torch/torch.h>

#include <functional>
#include <vector>

#include "zoo/trainer.h"

namespace zoo {

/// Inputs and what a model should answer; the first dimension of both is the sample.
struct Examples {
  torch::Tensor inputs, answers;
};

// These functions draw from LibTorch's global generator, so a seed fixes them. Inputs are roughly standardized.

/// Gaussian clouds, one per class: (count, features) floats.
Examples blobs(int64_t count = 960, int64_t features = 16, int64_t classes = 4);
/// Noisy stripes in four directions: (count, 1, 8, 8) floats, four classes.
Examples images(int64_t count = 960);
/// The class is whether the mean over time of the first feature is positive: (count, length, 4) floats, two classes.
Examples sequences(int64_t count = 960, int64_t length = 12);
/// Word numbers: a few words are frequent, most are rare, and each class prefers its own: (count, length), four
/// classes. Number 0 stands for padding and is never drawn.
Examples texts(int64_t count = 960, int64_t length = 10, int64_t vocabulary = 400);
/// A smooth function of a few features, with a little noise: (count, features) floats, (count, 1) floats.
Examples curves(int64_t count = 960, int64_t features = 8);

/// The samples with indices from `begin` up to, not including, `end`.
Examples part(const Examples& examples, int64_t begin, int64_t end = INT64_MAX);
/// Splits the examples into batches, in a new random order at each call; the last batch may be smaller.
std::vector<Examples> batches(const Examples& examples, int64_t size, bool drop_last = false);

torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& answers);
torch::Tensor squared_error(const torch::Tensor& output, const torch::Tensor& answers);

using Forward = std::function<torch::Tensor(const torch::Tensor&)>;
using LossOf = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& answers)>;

/// How the loop of a trainer differs from the plainest loop. Steps are counted from 1.
struct Loop {
  int epochs = 4;
  int64_t batch = 32;
  bool drop_last = false;
  LossOf loss = cross_entropy;
  Examples validation = {};  ///< evaluated after each epoch, unless empty

  std::function<void(Examples& batch, int64_t step)> on_batch = nullptr;
  std::function<void(int64_t step)> before_step = nullptr;  ///< between backward and step
};

/// The usual loop: clear gradients, forward, loss, backward, step, and a validation after each epoch. The caller has
/// already attached the model.
void train(Run& run, torch::nn::Module& model, const Forward& forward, torch::optim::Optimizer& optimizer,
           const Examples& examples, const Loop& loop);

/// Attaches the model and trains it.
template <typename Model, typename Optimizer>
void fit(Run& run, Model& model, Optimizer&& optimizer, const Examples& examples, const Loop& loop = {}) {
  run.inspector.attach(*model, optimizer);
  train(
      run, *model, [&](const torch::Tensor& x) { return model->forward(x); }, optimizer, examples, loop);
}

template <typename Model>
torch::optim::Adam adam(Model& model, double rate) {
  return torch::optim::Adam(model->parameters(), rate);
}
template <typename Model>
torch::optim::SGD sgd(Model& model, double rate, double momentum = 0) {
  return torch::optim::SGD(model->parameters(), torch::optim::SGDOptions(rate).momentum(momentum));
}

/// Runs `epochs` epochs, and calls `learn` with each batch of 32 examples.
void for_batches(Run& run, int epochs, const Examples& examples, const std::function<void(const Examples&)>& learn);

/// Pushes the mean loss over all examples as the validation loss, in evaluation mode and without gradients.
void validate(Run& run, torch::nn::Module& model, const Forward& forward, const Examples& examples,
              const LossOf& loss = cross_entropy);

template <typename Model>
void validate(Run& run, Model& model, const Examples& examples) {
  validate(
      run, *model, [&](const torch::Tensor& x) { return model->forward(x); }, examples);
}

/// Sets the learning rate of all parameter groups.
void set_rate(torch::optim::Optimizer& optimizer, double rate);

}  // namespace zoo
