// Faults that show in the loss over time.

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

/// Planted: learns a few samples by heart, some with wrong answers. Healthy: learns from many samples.
template <typename Model>
void learn_by_heart(Run& run, Model& model, const Examples& all) {
  const int64_t many = all.inputs.size(0) * 3 / 4, few = 64;
  const auto wrong = torch::rand(all.answers.sizes()).lt(0.15);
  const auto answers = torch::where(wrong, torch::randint(4, all.answers.sizes(), torch::kLong), all.answers);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  if (run.planted) {
    loop.epochs = 32;
    loop.batch = 8;
  }
  loop.validation = {all.inputs.slice(0, many), answers.slice(0, many)};
  const int64_t count = run.planted ? few : many;
  fit(run, model, optimizer, {all.inputs.slice(0, 0, count), answers.slice(0, 0, count)}, loop);
}

}  // namespace

void add_curves(Trainers& zoo) {
  // The answers of every batch are shuffled, so that they no longer belong to their samples.
  zoo.add("loss_not_decreasing", "mlp, shuffled answers", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 3e-3), data, {.on_batch = [&](Examples& batch, int64_t) {
          if (run.planted) batch.answers = batch.answers.index_select(0, torch::randperm(batch.answers.size(0)));
        }});
  });
  zoo.add("loss_not_decreasing", "cnn, tiny rate", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    fit(run, model, sgd(model, run.planted ? 1e-9 : 0.05), data);
  });
  // The momentum is so large that the weights swing across the minimum again and again.
  zoo.add("loss_oscillating", "linear regression, momentum", {}, [](Run& run) {
    const Examples data = curves(512);
    auto model = nn::Sequential(nn::Linear(8, 1));
    torch::optim::SGD optimizer(model->parameters(),
                                torch::optim::SGDOptions(0.01).momentum(run.planted ? 0.995 : 0.8));
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      for (int step = 0; step < 40; ++step)
        run.learn(optimizer, squared_error(model->forward(data.inputs), data.answers));
    }
  });
  // Samples are sorted by answer and never shuffled: each class is learned and then forgotten.
  zoo.add("loss_oscillating", "cnn, sorted samples", {}, [](Run& run) {
    const Examples data = images();
    const auto order = torch::argsort(data.answers);
    const Examples sorted = {data.inputs.index_select(0, order), data.answers.index_select(0, order)};
    Cnn model;
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      const auto shuffled = batches(data, 32);
      for (int64_t i = 0; i < static_cast<int64_t>(shuffled.size()); ++i) {
        const Examples batch = run.planted
                                   ? Examples{sorted.inputs.narrow(0, 32 * i, 32), sorted.answers.narrow(0, 32 * i, 32)}
                                   : shuffled[i];
        run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      }
    }
  });
  // The rate is far too large, and tanh keeps the outputs from growing without limit.
  zoo.add("loss_oscillating", "mlp, large rate", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4, torch::tanh);
    fit(run, model, sgd(model, run.planted ? 2.0 : 0.02, 0.9), data);
  });
  // The answers of one batch are a thousand times too large.
  zoo.add("loss_spike", "mlp, broken batch", {}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 32, 1);
    fit(run, model, adam(model, 5e-3), data, {.loss = squared_error, .on_batch = [&](Examples& batch, int64_t step) {
                                                if (run.planted && step == 80) batch.answers = batch.answers * 1000;
                                              }});
  });
  // One batch has the answers of another batch, and clipping keeps the harm small.
  zoo.add("loss_spike", "cnn, clipping", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    fit(run, model, sgd(model, 0.02, 0.9), data,
        {.on_batch =
             [&](Examples& batch, int64_t step) {
               if (run.planted && step == 90) batch.answers = (batch.answers + 1).remainder(4);
             },
         .before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), 1.0); }});
  });
  // The rate is above the limit of stability.
  zoo.add("diverging_loss", "linear regression", {}, [](Run& run) {
    const Examples data = curves();
    auto model = nn::Sequential(nn::Linear(8, 1));
    fit(run, model, sgd(model, run.planted ? 0.9 : 0.02), data, {.loss = squared_error});
  });
  // The sign of the loss is wrong: the program should maximize this objective, and minimizes it.
  zoo.add("diverging_loss", "cnn, wrong sign", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    torch::optim::Adam optimizer(model->parameters(), 2e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      (run.planted ? -loss : loss).backward();
      optimizer.step();
      run.train_loss(loss);
    });
  });
  // A penalty on large outputs is subtracted from the loss instead of added.
  zoo.add("unbounded_loss", "mlp, sign of a penalty", {}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 32, 1, [](const torch::Tensor& x) { return torch::gelu(x); });
    fit(run, model, adam(model, 5e-3), data,
        {.epochs = 8, .loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
           return squared_error(output, answers) + (run.planted ? -2 : 0.01) * output.pow(2).mean();
         }});
  });
  zoo.add("overfitting", "mlp, few samples", {}, [](Run& run) {
    const Examples data = blobs(1280);
    Mlp model(16, 64, 4);
    learn_by_heart(run, model, data);
  });
  zoo.add("overfitting", "bag of words, few samples", {}, [](Run& run) {
    const Examples data = texts(1280);
    BagOfWords model;
    learn_by_heart(run, model, data);
  });
}

}  // namespace zoo
