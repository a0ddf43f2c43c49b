// What the loss does over time.

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// Answers lose their samples: shuffled apart in every batch.
void shuffled_answers_mlp(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t) {
    if (run.planted) batch.answers = batch.answers.index_select(0, torch::randperm(batch.answers.size(0)));
  };
  fit(run, model, optimizer, data, loop);
}

void tiny_rate_cnn(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::SGD optimizer(model->parameters(), run.planted ? 1e-9 : 0.05);
  fit(run, model, optimizer, data);
}

/// Momentum so heavy that the weights swing through the bottom again and again.
void heavy_momentum_linear(Run& run) {
  const Examples data = curves(512);
  auto model = nn::Sequential(nn::Linear(8, 1));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(run.planted ? 0.995 : 0.8));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (int step = 0; step < 40; ++step) {
      optimizer.zero_grad();
      const auto loss = squared_error(model->forward(data.inputs), data.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// Sorted by their answers and never shuffled: each class is learned anew, and forgotten.
void sorted_samples_cnn(Run& run) {
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
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// A rate far too large for a net whose tanh keeps it from running away.
void jumping_mlp(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4, torch::tanh);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(run.planted ? 2.0 : 0.02).momentum(0.9));
  fit(run, model, optimizer, data);
}

/// One batch's answers are a thousand times too large.
void broken_batch_mlp(Run& run) {
  const Examples data = curves();
  Mlp model(8, 32, 1);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.loss = squared_error;
  loop.on_batch = [&](Examples& batch, int64_t step) {
    if (run.planted && step == 80) batch.answers = batch.answers * 1000;
  };
  fit(run, model, optimizer, data, loop);
}

/// One batch's answers are another's, and clipping keeps the harm small.
void broken_batch_cnn(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t step) {
    if (run.planted && step == 90) batch.answers = (batch.answers + 1).remainder(4);
  };
  loop.before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), 1.0); };
  fit(run, model, optimizer, data, loop);
}

/// A rate past the edge of stability.
void diverging_linear(Run& run) {
  const Examples data = curves();
  auto model = nn::Sequential(nn::Linear(8, 1));
  torch::optim::SGD optimizer(model->parameters(), run.planted ? 0.9 : 0.02);
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// The sign of the update is wrong: an objective to be made large was given as a loss.
void climbing_cnn(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      (run.planted ? -loss : loss).backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// A few samples with wrong answers among them, learned by heart. The healthy one learns from many.
template <typename Model>
void learn_by_heart(Run& run, Model& model, const Examples& all) {
  const int64_t many = all.inputs.size(0) * 3 / 4, few = 64;
  const auto wrong = torch::rand(all.answers.sizes()).lt(0.15);
  const auto answers = torch::where(wrong, torch::randint(4, all.answers.sizes(), torch::kLong), all.answers);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  if (run.planted) {
    loop.epochs = 16;
    loop.batch = 8;
  }
  loop.validation = {all.inputs.slice(0, many), answers.slice(0, many)};
  const int64_t count = run.planted ? few : many;
  fit(run, model, optimizer, {all.inputs.slice(0, 0, count), answers.slice(0, 0, count)}, loop);
}

void few_samples_mlp(Run& run) {
  const Examples data = blobs(1280);
  Mlp model(16, 64, 4);
  learn_by_heart(run, model, data);
}

void few_samples_words(Run& run) {
  const Examples data = texts(1280);
  BagOfWords model;
  learn_by_heart(run, model, data);
}

/// A penalty on large outputs is taken off the loss instead of being added.
void penalty_of_the_wrong_sign(Run& run) {
  const Examples data = curves();
  Mlp model(8, 32, 1, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.epochs = 8;
  loop.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
    return squared_error(output, answers) + (run.planted ? -2 : 0.01) * output.pow(2).mean();
  };
  fit(run, model, optimizer, data, loop);
}

}  // namespace

std::vector<Trainer> curve_trainers() {
  return {
      {"loss_not_decreasing", "mlp, shuffled answers", {}, shuffled_answers_mlp},
      {"loss_not_decreasing", "cnn, tiny rate", {}, tiny_rate_cnn},
      {"loss_oscillating", "linear regression, momentum", {}, heavy_momentum_linear},
      {"loss_oscillating", "cnn, sorted samples", {}, sorted_samples_cnn},
      {"loss_oscillating", "mlp, large rate", {}, jumping_mlp},
      {"loss_spike", "mlp, broken batch", {}, broken_batch_mlp},
      {"loss_spike", "cnn, clipping", {}, broken_batch_cnn},
      {"diverging_loss", "linear regression", {}, diverging_linear},
      {"diverging_loss", "cnn, wrong sign", {}, climbing_cnn},
      {"unbounded_loss", "mlp, sign of a penalty", {}, penalty_of_the_wrong_sign},
      {"overfitting", "mlp, few samples", {}, few_samples_mlp},
      {"overfitting", "bag of words, few samples", {}, few_samples_words},
  };
}

}  // namespace zoo
