// Rates, and steps that change nothing.

#include <algorithm>
#include <cmath>
#include <optional>

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// A warm-up whose share is divided as whole numbers: 0 until it is over. The healthy one begins at 0, too.
void warm_up_of_integers(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  constexpr int64_t warm_up = 60;
  Loop loop;
  loop.before_step = [&](int64_t step) {
    const int64_t done = std::min(step - 1, warm_up);
    set_rate(optimizer, 0.1 * (run.planted ? double(done / warm_up) : double(done) / warm_up));
  };
  fit(run, model, optimizer, data, loop);
}

/// Cosine annealing that arrives at 0 half way. The healthy one arrives in the last step.
void annealing_ends_early(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const int64_t length = run.planted ? 60 : 119;
  Loop loop;
  loop.before_step = [&](int64_t step) {
    const double share = double(std::min(step - 1, length)) / length;
    set_rate(optimizer, 0.025 * (1 + std::cos(share * std::acos(-1.0))));
  };
  fit(run, model, optimizer, data, loop);
}

/// A schedule that is meant for epochs is stepped with each batch.
void schedule_of_epochs_in_each_batch(Run& run) {
  const Examples data = blobs();
  NormMlp model(16, 32, 4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  double rate = 0.05;
  Loop loop;
  loop.before_step = [&](int64_t step) {
    if (run.planted || step % 30 == 0) set_rate(optimizer, rate *= 0.6);
  };
  fit(run, model, optimizer, data, loop);
}

/// A decay that was taken for a share.
void decay_of_a_half(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(run.planted ? 0.5 : 1e-4));
  fit(run, model, optimizer, data);
}

/// The weights of the beginning are loaded before each epoch. The healthy one loads them once.
void checkpoint_in_each_epoch(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  std::vector<torch::Tensor> kept;
  for (const torch::Tensor& each : model->parameters()) kept.push_back(each.detach().clone());
  Loop loop;
  loop.epochs = 5;
  loop.on_batch = [&](Examples&, int64_t step) {
    if (step != 1 && !(run.planted && step % 30 == 1)) return;
    const torch::NoGradGuard no_grad;
    const auto parameters = model->parameters();
    for (std::size_t i = 0; i < kept.size(); ++i) parameters[i].detach().copy_(kept[i]);
  };
  fit(run, model, optimizer, data, loop);
}

/// One group's rate was never filled in.
void group_without_a_rate(Run& run) {
  const Examples data = texts();
  Transformer model;
  std::vector<torch::Tensor> weights, biases;
  for (const auto& parameter : model->parameters()) (parameter.dim() > 1 ? weights : biases).push_back(parameter);
  using torch::optim::AdamWOptions;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(weights, std::make_unique<AdamWOptions>(AdamWOptions(3e-3).weight_decay(0.01)));
  const double rate = run.planted ? 0 : 3e-3;
  groups.emplace_back(biases, std::make_unique<AdamWOptions>(AdamWOptions(rate).weight_decay(0)));
  torch::optim::AdamW optimizer(groups, AdamWOptions(3e-3));
  fit(run, model, optimizer, data);
}

/// A rate for another kind of loss: smaller than what a float of the parameters' size can hold.
void rate_below_float(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::SGD optimizer(model->parameters(), run.planted ? 1e-14 : 0.1);
  fit(run, model, optimizer, data);
}

/// Bfloat16 has 8 bits: fine-tuning at the usual rate is rounded away.
void rate_below_bfloat16(Run& run) {
  Examples data = blobs();
  data.inputs = data.inputs.to(torch::kBFloat16);
  Mlp model(16, 32, 4);
  model->to(torch::kBFloat16);
  torch::optim::SGD optimizer(model->parameters(), run.planted ? 1e-7 : 0.1);
  Loop loop;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    return cross_entropy(output.to(torch::kFloat), answers);
  };
  fit(run, model, optimizer, data, loop);
}

/// The optimizer holds copies, as after a conversion that was meant to be in place.
void optimizer_of_copies(Run& run) {
  const Examples data = images();
  auto model = plain_cnn();
  std::vector<torch::Tensor> parameters = model->parameters();
  if (run.planted) {
    for (torch::Tensor& parameter : parameters) parameter = parameter.detach().clone().set_requires_grad(true);
  }
  torch::optim::Adam optimizer(parameters, 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      model->zero_grad();
      const auto loss = cross_entropy(model->forward(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

void rate_far_too_small_mlp(Run& run) {
  const Examples data = curves();
  Mlp model(8, 32, 1, torch::tanh);
  torch::optim::Adam optimizer(model->parameters(), run.planted ? 1e-7 : 1e-2);
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// The limit of clipping has the wrong sign in its exponent.
void clipped_to_nothing_lstm(Run& run) {
  const Examples data = sequences();
  LstmClassifier model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.5).momentum(0.9));
  Loop loop;
  loop.before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), run.planted ? 1e-6 : 1.0); };
  fit(run, model, optimizer, data, loop);
}

void rate_far_too_large_cnn(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::Adam optimizer(model->parameters(), run.planted ? 1.0 : 3e-3);
  fit(run, model, optimizer, data);
}

void rate_far_too_large_transformer(Run& run) {
  const Examples data = texts();
  Transformer model;
  torch::optim::AdamW optimizer(model->parameters(), run.planted ? 0.5 : 3e-3);
  fit(run, model, optimizer, data);
}

/// Made within the loop, so that it forgets what it knew of the gradients. The healthy one is made twice, for two
/// stages.
void made_anew(Run& run, int64_t steps_until_made) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  std::optional<torch::optim::Adam> optimizer(std::in_place, model->parameters(), 1e-3);
  run.inspector.attach(*model, *optimizer);
  constexpr int64_t second_stage = 61;
  int64_t step = 0;
  for ([[maybe_unused]] int epoch : run.inspector.epochs(6)) {
    for (const Examples& batch : batches(data, 32)) {
      ++step;
      if (run.planted ? step % steps_until_made == 0 : step == second_stage)
        optimizer.emplace(model->parameters(), 1e-3);
      optimizer->zero_grad();
      const auto loss = cross_entropy(model->forward(batch.inputs), batch.answers);
      loss.backward();
      optimizer->step();
      run.train_loss(loss);
    }
  }
}

void optimizer_of_each_epoch(Run& run) {
  made_anew(run, 30);
}

void optimizer_of_each_step(Run& run) {
  made_anew(run, 1);
}

}  // namespace

std::vector<Trainer> optimizer_trainers() {
  return {
      {"zero_learning_rate", "mlp, warm-up", {2}, warm_up_of_integers},
      {"zero_learning_rate", "cnn, cosine", {61}, annealing_ends_early},
      {"zero_learning_rate", "transformer, one group", {1}, group_without_a_rate},
      {"learning_rate_change", "mlp, schedule of epochs", {}, schedule_of_epochs_in_each_batch},
      {"excessive_weight_decay", "mlp", {}, decay_of_a_half},
      {"weights_reset", "cnn", {}, checkpoint_in_each_epoch},
      {"no_effect", "mlp, tiny rate", {1}, rate_below_float},
      {"no_effect", "bfloat16 mlp", {1}, rate_below_bfloat16},
      {"no_effect", "cnn, copies", {1}, optimizer_of_copies},
      {"new_optimizer", "mlp, adam of each epoch", {}, optimizer_of_each_epoch},
      {"new_optimizer", "mlp, adam of each step", {}, optimizer_of_each_step},
      {"update_ratio", "mlp, too small", {}, rate_far_too_small_mlp},
      {"update_ratio", "lstm, clipped to nothing", {}, clipped_to_nothing_lstm},
      {"update_ratio", "cnn, too large", {}, rate_far_too_large_cnn},
      {"update_ratio", "transformer, too large", {}, rate_far_too_large_transformer},
  };
}

}  // namespace zoo
