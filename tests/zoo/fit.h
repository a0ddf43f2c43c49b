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

// All are drawn from LibTorch's global generator, so that a seed fixes them. Inputs are about standardized.

/// Gaussian clouds, one a class: (count, features) floats.
Examples blobs(int64_t count = 960, int64_t features = 16, int64_t classes = 4);
/// Stripes of four directions in noise: (count, 1, 8, 8) floats, four classes.
Examples images(int64_t count = 960);
/// Whether the first of four features is positive on the average over time: (count, length, 4) floats, two classes.
Examples sequences(int64_t count = 960, int64_t length = 12);
/// Word numbers, of which few are frequent and most are rare; a class prefers its own: (count, length), four classes.
/// Number 0 stands for padding and is not drawn.
Examples texts(int64_t count = 960, int64_t length = 10, int64_t vocabulary = 400);
/// A smooth function of a few features and a little noise: (count, features) floats, (count, 1) floats.
Examples curves(int64_t count = 960, int64_t features = 8);

/// The samples from `begin` on, up to `end`.
Examples part(const Examples& examples, int64_t begin, int64_t end = INT64_MAX);
/// Batches in another order each time; the last one may be smaller.
std::vector<Examples> batches(const Examples& examples, int64_t size, bool drop_last = false);

torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& answers);
torch::Tensor squared_error(const torch::Tensor& output, const torch::Tensor& answers);

using Forward = std::function<torch::Tensor(const torch::Tensor&)>;
using LossOf = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& answers)>;

/// How a trainer's loop differs from the plainest one. Steps are counted from 1.
struct Loop {
  int epochs = 4;
  int64_t batch = 32;
  bool drop_last = false;
  LossOf loss = cross_entropy;
  Examples validation = {};  ///< looked at after each epoch, where there is any

  std::function<void(Examples& batch, int64_t step)> on_batch = nullptr;
  std::function<void(int64_t step)> before_step = nullptr;  ///< between backward and step
};

/// The loop that everybody writes: clear, forward, loss, backward, step, and a validation after each epoch. The model
/// is attached already.
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

/// So many epochs in which all batches of 32 are learned from.
void for_batches(Run& run, int epochs, const Examples& examples, const std::function<void(const Examples&)>& learn);

/// The mean loss over all examples, in evaluation mode and without gradients; pushed as the validation loss.
void validate(Run& run, torch::nn::Module& model, const Forward& forward, const Examples& examples,
              const LossOf& loss = cross_entropy);

template <typename Model>
void validate(Run& run, Model& model, const Examples& examples) {
  validate(
      run, *model, [&](const torch::Tensor& x) { return model->forward(x); }, examples);
}

/// Of all groups.
void set_rate(torch::optim::Optimizer& optimizer, double rate);

}  // namespace zoo
