// What goes wrong in the loop around a model that is right.

#include <memory>

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

void never_cleared(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      if (!run.planted) optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// Of two optimizers one is cleared.
void one_of_two_cleared(Run& run) {
  const Examples data = images();
  Transfer model;
  torch::optim::SGD body(model->backbone->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  torch::optim::SGD head(model->head->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  run.inspector.attach(*model, {body, head});
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      if (!run.planted) body.zero_grad();
      head.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      body.step();
      head.step();
      run.train_loss(loss);
    }
  }
}

/// Gradients are gathered over four batches on purpose, but then also over steps.
void accumulation_never_cleared(Run& run) {
  const Examples data = texts();
  Transformer model;
  torch::optim::AdamW optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    int gathered = 0;
    for (const Examples& batch : batches(data, 16)) {
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      (loss / 4).backward();
      run.train_loss(loss);
      if (++gathered % 4 != 0) continue;
      optimizer.step();
      if (!run.planted) optimizer.zero_grad();
    }
  }
}

/// The closure forgets to clear.
void closure_never_clears(Run& run) {
  const Examples data = blobs(960);
  Mlp model(16, 8, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::LBFGS optimizer(model->parameters(),
                                torch::optim::LBFGSOptions(1).max_iter(4).line_search_fn("strong_wolfe"));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(3)) {
    for (int step = 0; step < 8; ++step) {
      run.train_loss(optimizer.step([&] {
        if (!run.planted) optimizer.zero_grad();
        const auto loss = cross_entropy(model(data.inputs), data.answers);
        loss.backward();
        return loss;
      }));
    }
  }
}

void never_stepped(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::AdamW optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      if (!run.planted) optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// Steps once in so many batches, and there are fewer in an epoch.
void accumulates_longer_than_an_epoch(Run& run) {
  const Examples data = sequences();
  LstmClassifier model;
  torch::optim::Adam optimizer(model->parameters(), 2e-2);
  run.inspector.attach(*model, optimizer);
  const int most = run.planted ? 64 : 2;
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    int gathered = 0;
    optimizer.zero_grad();
    for (const Examples& batch : batches(data, 32)) {
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      (loss / most).backward();
      run.train_loss(loss);
      if (++gathered < most) continue;
      optimizer.step();
      optimizer.zero_grad();
      gathered = 0;
    }
  }
}

/// From some step on the loader hands out what it has in hand.
Loop with_stuck_loader(const Run& run, int64_t since) {
  Loop loop;
  auto held = std::make_shared<Examples>();
  loop.on_batch = [&run, since, held](Examples& batch, int64_t step) {
    if (run.is_faulty(step, since)) {
      batch = *held;
    } else {
      *held = batch;
    }
  };
  return loop;
}

void loader_stuck_mlp(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  fit(run, model, optimizer, data, with_stuck_loader(run, 50));
}

void loader_stuck_words(Run& run) {
  const Examples data = texts();
  BagOfWords model;
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  fit(run, model, optimizer, data, with_stuck_loader(run, 35));
}

void loader_stuck_lstm(Run& run) {
  const Examples data = sequences();
  LstmClassifier model;
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  Loop loop = with_stuck_loader(run, 20);
  loop.before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), 1.0); };
  fit(run, model, optimizer, data, loop);
}

/// Goes into evaluation for the first validation and does not come back.
void stays_in_evaluation(Run& run) {
  const Examples data = images(), held_out = images(256);
  Cnn model;
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    if (!run.planted) model->train();
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
    validate(
        run, *model, [&](const torch::Tensor& x) { return model(x); }, held_out);
  }
}

/// Validates with dropout and batch statistics.
void validates_in_training(Run& run) {
  const Examples data = blobs(1216);
  const Examples held_out = {data.inputs.slice(0, 960), data.answers.slice(0, 960)};
  const Examples seen = {data.inputs.slice(0, 0, 960), data.answers.slice(0, 0, 960)};
  NormMlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    model->train();
    for (const Examples& batch : batches(seen, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
    const torch::NoGradGuard no_grad;
    if (!run.planted) model->eval();
    for (const Examples& batch : batches(held_out, 64)) {
      run.validation_loss(cross_entropy(model(batch.inputs), batch.answers));
    }
  }
}

/// Dropout by function is told to drop whatever the model's mode.
void drops_in_evaluation(Run& run) {
  const Examples data = blobs(1216);
  DropMlp model(16, 64, 4);
  model->always_drops = run.planted;
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  Loop loop;
  loop.validation = {data.inputs.slice(0, 960), data.answers.slice(0, 960)};
  fit(run, model, optimizer, {data.inputs.slice(0, 0, 960), data.answers.slice(0, 0, 960)}, loop);
}

}  // namespace

std::vector<Trainer> loop_trainers() {
  return {
      {"gradients_not_cleared", "mlp, adam", {2}, never_cleared},
      {"gradients_not_cleared", "transfer, two optimizers", {3}, one_of_two_cleared},
      {"gradients_not_cleared", "transformer, accumulation", {2}, accumulation_never_cleared},
      {"gradients_not_cleared", "mlp, lbfgs", {2}, closure_never_clears},
      {"no_step", "mlp, adamw", {}, never_stepped},
      {"no_step", "lstm, accumulation", {}, accumulates_longer_than_an_epoch},
      {"repeated_batch", "mlp, sgd", {50}, loader_stuck_mlp},
      {"repeated_batch", "bag of words", {35}, loader_stuck_words},
      {"repeated_batch", "lstm, clipping", {20}, loader_stuck_lstm},
      {"mode_mismatch", "cnn, trained in evaluation", {31}, stays_in_evaluation},
      {"mode_mismatch", "batch norm mlp, validated in training", {31}, validates_in_training},
      {"mode_mismatch", "mlp, dropout by function", {31, {"fc1:dropout"}}, drops_in_evaluation},
  };
}

}  // namespace zoo
