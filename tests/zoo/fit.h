#pragma once

#include <torch/torch.h>

#include <functional>

#include "zoo/data.h"
#include "zoo/run.h"

namespace zoo {

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
template <typename Model>
void fit(Run& run, Model& model, torch::optim::Optimizer& optimizer, const Examples& examples, const Loop& loop = {}) {
  run.inspector.attach(*model, optimizer);
  train(
      run, *model, [&](const torch::Tensor& x) { return model->forward(x); }, optimizer, examples, loop);
}

/// The mean loss over all examples, in evaluation mode and without gradients; pushed as the validation loss.
void validate(Run& run, torch::nn::Module& model, const Forward& forward, const Examples& examples,
              const LossOf& loss = cross_entropy);

/// Of all groups.
void set_rate(torch::optim::Optimizer& optimizer, double rate);

}  // namespace zoo
