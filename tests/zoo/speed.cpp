// What makes steps slow, and memory grow.

#include <chrono>
#include <thread>
#include <vector>

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

void rest(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// One worker that has to read and decode.
void slow_loader(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  Loop loop;
  loop.epochs = 6;
  loop.on_batch = [&](Examples&, int64_t) {
    if (run.planted) rest(20);
  };
  fit(run, model, optimizer, data, loop);
}

/// Each step looks through a list that each step makes longer.
void list_that_grows(Run& run) {
  const Examples data = blobs(2560);
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  Loop loop;
  loop.epochs = 11;
  loop.on_batch = [&](Examples&, int64_t step) {
    if (run.planted) rest(static_cast<int>(2 + step / 80));
  };
  fit(run, model, optimizer, data, loop);
}

/// Outputs are kept for a confusion matrix at the end: with all that they were computed from, or without.
void kept_outputs(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  std::vector<torch::Tensor> outputs;
  run.inspector.attach(*model, optimizer);
  Loop loop;
  loop.epochs = 6;
  const Forward forward = [&](const torch::Tensor& x) {
    const torch::Tensor output = model->forward(x);
    outputs.push_back(run.planted ? output : output.detach());
    return output;
  };
  train(run, *model, forward, optimizer, data, loop);
}

/// Losses are added up for a mean of the epoch, which begins anew in the next: with their graphs, or without.
void summed_losses(Run& run) {
  const Examples data = texts(4800);
  Transformer model;
  torch::optim::AdamW optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(2)) {
    torch::Tensor sum = torch::zeros({});
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
      sum = sum + (run.planted ? loss : loss.detach());
    }
  }
}

}  // namespace

std::vector<Trainer> speed_trainers() {
  return {
      {"input_bound", "mlp, slow loader", {}, slow_loader},
      {"slower_each_epoch", "mlp, list that grows", {}, list_that_grows},
      {"memory_creep", "mlp, kept outputs", {}, kept_outputs},
      {"memory_creep", "transformer, summed losses", {}, summed_losses},
  };
}

}  // namespace zoo
