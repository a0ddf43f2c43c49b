// Loops that people write on purpose, and that must not be taken for faults.

#include <cmath>

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// From 0 up for a third of all steps, then down to 0 in the last.
void warm_up_and_cosine(Run& run) {
  const Examples data = texts();
  Transformer model;
  torch::optim::AdamW optimizer(model->parameters(), 0);
  constexpr int64_t warm_up = 40, all = 150;
  Loop loop;
  loop.epochs = 5;
  loop.before_step = [&](int64_t step) {
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    const double rising = double(step - 1) / warm_up;
    const double falling = 0.5 * (1 + std::cos(double(step - warm_up) / (all - warm_up) * std::acos(-1.0)));
    set_rate(optimizer, 5e-3 * (step <= warm_up ? rising : falling));
  };
  loop.validation = texts(256);
  fit(run, model, optimizer, data, loop);
}

/// The rate falls tenfold after half of the epochs, with RMSprop.
void rate_in_stairs(Run& run) {
  const Examples data = curves();
  Mlp model(8, 48, 1, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::RMSprop optimizer(model->parameters(), torch::optim::RMSpropOptions(3e-3));
  Loop loop;
  loop.epochs = 6;
  loop.loss = squared_error;
  loop.on_batch = [&](Examples&, int64_t step) {
    if (step == 91) set_rate(optimizer, 3e-4);
  };
  loop.validation = curves(256);
  fit(run, model, optimizer, data, loop);
}

/// All examples in each step, the same input for ever; the optimizer asks for the loss several times a step.
void full_batch_lbfgs(Run& run) {
  const Examples data = blobs(960);
  Mlp model(16, 8, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::LBFGS optimizer(model->parameters(),
                                torch::optim::LBFGSOptions(1).max_iter(4).line_search_fn("strong_wolfe"));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(3)) {
    for (int step = 0; step < 8; ++step) {
      run.train_loss(optimizer.step([&] {
        optimizer.zero_grad();
        const auto loss = cross_entropy(model(data.inputs), data.answers);
        loss.backward();
        return loss;
      }));
    }
  }
}

void full_batch_descent(Run& run) {
  const Examples data = curves(256);
  Mlp model(8, 32, 1, torch::tanh);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (int step = 0; step < 25; ++step) {
      optimizer.zero_grad();
      const auto loss = squared_error(model(data.inputs), data.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// Gradients of four batches a step, and the rest of an epoch in a smaller step.
void accumulation(Run& run) {
  const Examples data = images(1000);
  Cnn model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    const auto all = batches(data, 16);
    optimizer.zero_grad();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto loss = cross_entropy(model(all[i].inputs), all[i].answers);
      (loss / 4).backward();
      run.train_loss(loss);
      if (i % 4 != 3 && i + 1 != all.size()) continue;
      optimizer.step();
      optimizer.zero_grad();
    }
  }
}

/// Begins to be watched after a few steps; the last batch of an epoch has seven samples.
void attached_midway(Run& run) {
  const Examples data = blobs(32 * 30 + 7);
  NormMlp model(16, 32, 4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  for (const Examples& batch : batches({data.inputs.slice(0, 0, 128), data.answers.slice(0, 0, 128)}, 16)) {
    optimizer.zero_grad();
    cross_entropy(model(batch.inputs), batch.answers).backward();
    optimizer.step();
  }
  fit(run, model, optimizer, data);
}

/// The second of four epochs only validates.
void paused_for_an_epoch(Run& run) {
  const Examples data = sequences(), held_out = sequences(256);
  LstmClassifier model;
  const Forward forward = [&](const torch::Tensor& x) { return model(x); };
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  run.inspector.attach(*model, optimizer);
  for (int epoch : run.inspector.epochs(5)) {
    model->train();
    if (epoch != 2) {
      for (const Examples& batch : batches(data, 32)) {
        optimizer.zero_grad();
        const auto loss = cross_entropy(model(batch.inputs), batch.answers);
        loss.backward();
        nn::utils::clip_grad_norm_(model->parameters(), 1.0);
        optimizer.step();
        run.train_loss(loss);
      }
    }
    validate(run, *model, forward, held_out);
  }
}

/// The optimizer holds a part of the model, and the program steps the rest, as where processes divide it.
void rest_stepped_by_hand(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  std::vector<torch::Tensor> parameters = model->fc1->parameters();
  for (const auto& parameter : model->fc2->parameters()) parameters.push_back(parameter);
  torch::optim::SGD optimizer(parameters, 0.05);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      model->zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      const torch::NoGradGuard no_grad;
      for (auto& parameter : model->fc3->parameters()) parameter.sub_(0.05 * parameter.grad());
      run.train_loss(loss);
    }
  }
}

}  // namespace

std::vector<Trainer> healthy_loop_trainers() {
  return {
      {"", "transformer, warm-up and cosine", {}, warm_up_and_cosine},
      {"", "mlp, rate in stairs", {}, rate_in_stairs},
      {"", "mlp, full batch, lbfgs", {}, full_batch_lbfgs},
      {"", "mlp, full batch, sgd", {}, full_batch_descent},
      {"", "cnn, accumulation", {}, accumulation},
      {"", "mlp, attached midway", {}, attached_midway},
      {"", "lstm, paused for an epoch", {}, paused_for_an_epoch},
      {"", "mlp, a part stepped by hand", {}, rest_stepped_by_hand},
  };
}

}  // namespace zoo
