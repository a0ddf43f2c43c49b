// Faults in the loop around a correct model.

#include <memory>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

/// From step `since` on, the loader returns the same batch again and again.
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

}  // namespace

void add_loop(Trainers& zoo) {
  zoo.add("gradients_not_cleared", "mlp, adam", {2}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 2e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      if (!run.planted) optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    });
  });
  // The program clears the gradients of one of its two optimizers.
  zoo.add("gradients_not_cleared", "transfer, two optimizers", {3}, [](Run& run) {
    const Examples data = images();
    Transfer model;
    torch::optim::SGD body(model->backbone->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
    torch::optim::SGD head(model->head->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
    run.inspector.attach(*model, {body, head});
    for_batches(run, 4, data, [&](const Examples& batch) {
      if (!run.planted) body.zero_grad();
      head.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      body.step();
      head.step();
      run.train_loss(loss);
    });
  });
  // Gradients are accumulated over four batches on purpose, but not cleared after a step (planted).
  zoo.add("gradients_not_cleared", "transformer, accumulation", {2}, [](Run& run) {
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
  });
  // The closure forgets to clear the gradients.
  zoo.add("gradients_not_cleared", "mlp, lbfgs", {2}, [](Run& run) {
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
  });
  zoo.add("no_step", "mlp, adamw", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
    torch::optim::AdamW optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      if (!run.planted) optimizer.step();
      run.train_loss(loss);
    });
  });
  // The program steps after every `most` batches, and an epoch has fewer batches.
  zoo.add("no_step", "lstm, accumulation", {}, [](Run& run) {
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
  });
  zoo.add("repeated_batch", "mlp, sgd", {50}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, sgd(model, 0.05, 0.9), data, with_stuck_loader(run, 50));
  });
  zoo.add("repeated_batch", "bag of words", {35}, [](Run& run) {
    const Examples data = texts();
    BagOfWords model;
    fit(run, model, adam(model, 1e-2), data, with_stuck_loader(run, 35));
  });
  zoo.add("repeated_batch", "lstm, clipping", {20}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    Loop loop = with_stuck_loader(run, 20);
    loop.before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), 1.0); };
    fit(run, model, adam(model, 1e-2), data, loop);
  });
  // The model is set to evaluation for the first validation and never back to training.
  zoo.add("mode_mismatch", "cnn, trained in evaluation", {31}, [](Run& run) {
    const Examples data = images(), held_out = images(256);
    Cnn model;
    torch::optim::Adam optimizer(model->parameters(), 2e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      if (!run.planted) model->train();
      for (const Examples& batch : batches(data, 32))
        run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      validate(run, model, held_out);
    }
  });
  // The model validates with dropout and with the statistics of the batch.
  zoo.add("mode_mismatch", "batch norm mlp, validated in training", {31}, [](Run& run) {
    const Examples data = blobs(1216);
    const Examples held_out = part(data, 960);
    const Examples seen = part(data, 0, 960);
    NormMlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      model->train();
      for (const Examples& batch : batches(seen, 32))
        run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      const torch::NoGradGuard no_grad;
      if (!run.planted) model->eval();
      for (const Examples& batch : batches(held_out, 64))
        run.validation_loss(cross_entropy(model(batch.inputs), batch.answers));
    }
  });
  // The call of functional dropout ignores the model's mode.
  zoo.add("mode_mismatch", "mlp, dropout by function", {31, {"fc1:dropout"}}, [](Run& run) {
    const Examples data = blobs(1216);
    DropMlp model(16, 64, 4);
    model->always_drops = run.planted;
    fit(run, model, adam(model, 3e-3), part(data, 0, 960), {.validation = part(data, 960)});
  });
}

}  // namespace zoo
