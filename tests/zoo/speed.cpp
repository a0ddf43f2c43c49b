// Faults that make steps slow, or memory grow.

#include <chrono>
#include <thread>
#include <vector>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

void rest(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

void add_speed(Trainers& zoo) {
  // One worker has to read and decode.
  zoo.add("input_bound", "mlp, slow loader", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 2e-3), data, {.epochs = 6, .on_batch = [&](Examples&, int64_t) {
                                                if (run.planted) rest(20);
                                              }});
  });
  // Each step searches a list that each step makes longer.
  zoo.add("slower_each_epoch", "mlp, list that grows", {}, [](Run& run) {
    const Examples data = blobs(2560);
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 2e-3), data, {.epochs = 11, .on_batch = [&](Examples&, int64_t step) {
                                                if (run.planted) rest(static_cast<int>(2 + step / 80));
                                              }});
  });
  // Outputs are kept for a confusion matrix at the end: with (planted) or without (healthy) their graphs.
  zoo.add("memory_creep", "mlp, kept outputs", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 2e-3);
    std::vector<torch::Tensor> outputs;
    run.inspector.attach(*model, optimizer);
    const Forward forward = [&](const torch::Tensor& x) {
      const torch::Tensor output = model->forward(x);
      outputs.push_back(run.planted ? output : output.detach());
      return output;
    };
    train(run, *model, forward, optimizer, data, {.epochs = 6});
  });
  // Losses are summed for the mean of each epoch: with (planted) or without (healthy) their graphs.
  zoo.add("memory_creep", "transformer, summed losses", {}, [](Run& run) {
    const Examples data = texts(4800);
    Transformer model;
    torch::optim::AdamW optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(2)) {
      torch::Tensor sum = torch::zeros({});
      for (const Examples& batch : batches(data, 32)) {
        const auto loss = cross_entropy(model(batch.inputs), batch.answers);
        run.learn(optimizer, loss);
        sum = sum + (run.planted ? loss : loss.detach());
      }
    }
  });
}

}  // namespace zoo
