// Models that learn from inputs alone: what they make, tell apart or foretell is their own input, or a noise.

#include <algorithm>
#include <cmath>

#include "zoo/fit.h"
#include "zoo/program_models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// Two half circles, one in the other, with a little noise.
torch::Tensor moons(int64_t count) {
  const auto angle = std::acos(-1.0) * torch::rand({count});
  const auto lower = torch::rand({count}).lt(0.5);
  const auto x = torch::where(lower, 1 - torch::cos(angle), torch::cos(angle)) - 0.5;
  const auto y = torch::where(lower, 0.5 - torch::sin(angle), torch::sin(angle)) - 0.25;
  return torch::stack({x, y}, 1) + 0.05 * torch::randn({count, 2});
}

/// Inputs of 16 features that two numbers explain.
void variational_autoencoder(Run& run) {
  const auto codes = torch::randn({1216, 2});
  const auto all = torch::tanh(codes.matmul(torch::randn({2, 16}))) + 0.05 * torch::randn({1216, 16});
  const auto inputs = all.slice(0, 0, 960), held_out = all.slice(0, 960);
  Vae model(16, 48, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  const auto loss_of = [&](const torch::Tensor& x) {
    const auto [decoded, mean, log_variance] = model->forward(x);
    const auto error = (decoded - x).square().sum(1);
    const auto divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1);
    return (error + 0.1 * divergence).mean();
  };
  for ([[maybe_unused]] int epoch : run.inspector.epochs(6)) {
    model->train();
    for (const Examples& batch : batches({inputs, inputs}, 32)) {
      optimizer.zero_grad();
      const auto loss = loss_of(batch.inputs);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
    model->eval();
    const torch::NoGradGuard no_grad;
    run.validation_loss(loss_of(held_out));
  }
}

/// InfoNCE: each sample is to be known again among the batch after two changes.
void contrastive(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 48, 16);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  const auto changed = [](const torch::Tensor& x) {
    return torch::rand_like(x).gt(0.1) * (x + 0.2 * torch::randn_like(x));
  };
  const auto embedded = [&](const torch::Tensor& x) {
    return nn::functional::normalize(model(x), nn::functional::NormalizeFuncOptions().dim(1));
  };
  for ([[maybe_unused]] int epoch : run.inspector.epochs(8)) {
    for (const Examples& batch : batches(data, 64, /*drop_last=*/true)) {
      const auto one = embedded(changed(batch.inputs)), other = embedded(changed(batch.inputs));
      const auto likeness = one.matmul(other.t()) / 0.2;
      const auto own = torch::arange(likeness.size(0));
      optimizer.zero_grad();
      const auto loss = 0.5 * (cross_entropy(likeness, own) + cross_entropy(likeness.t(), own));
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// A few samples have answers; for the others the student agrees with a teacher, who is the average of the student.
void mean_teacher(Run& run) {
  const Examples data = blobs(), held_out = {data.inputs.slice(0, 800), data.answers.slice(0, 800)};
  const auto known = data.inputs.slice(0, 0, 96), answers = data.answers.slice(0, 0, 96);
  const auto unknown = data.inputs.slice(0, 96, 800);
  NormMlp student(16, 32, 4), teacher(16, 32, 4);
  copy_weights(*student, *teacher);
  freeze(*teacher);
  teacher->eval();
  const Forward forward = [&](const torch::Tensor& x) { return teacher(x); };
  torch::optim::Adam optimizer(student->parameters(), 3e-3);
  run.inspector.attach(*student, optimizer, "student");
  run.inspector.attach(*teacher, "teacher");
  const auto shaken = [](const torch::Tensor& x) { return x + 0.1 * torch::randn_like(x); };
  for (int epoch : run.inspector.epochs(8)) {
    for (const Examples& batch : batches({unknown, unknown}, 32)) {
      const auto some = torch::randint(known.size(0), {32}, torch::kLong);
      const auto wanted = torch::softmax(teacher(shaken(batch.inputs)), 1);
      optimizer.zero_grad();
      const auto scores = student(shaken(torch::cat({known.index_select(0, some), batch.inputs})));
      const auto agreement = squared_error(torch::softmax(scores.slice(0, 32), 1), wanted);
      const auto loss =
          cross_entropy(scores.slice(0, 0, 32), answers.index_select(0, some)) + std::min(epoch, 4) * agreement;
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
      blend_weights(*teacher, *student, 0.05);
    }
    validate(run, *teacher, forward, held_out);
  }
}

/// Tells the noise in points of two half circles, at any share of noise.
void diffusion(Run& run) {
  const auto points = moons(960) / 0.6;
  Denoiser model(64);
  torch::optim::AdamW optimizer(model->parameters(), 1e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(10)) {
    for (const Examples& batch : batches({points, points}, 32)) {
      const auto time = torch::rand({batch.inputs.size(0), 1});
      const auto angle = 0.5 * std::acos(-1.0) * time;
      const auto noise = torch::randn_like(batch.inputs);
      optimizer.zero_grad();
      const auto told = model->forward(angle.cos() * batch.inputs + angle.sin() * noise, time);
      const auto loss = squared_error(told, noise);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// The density grows beyond 1, so that its negative logarithm crosses 0.
void normalizing_flow(Run& run) {
  const auto all = 0.4 * moons(1216);
  const auto points = all.slice(0, 0, 960), held_out = all.slice(0, 960);
  Flow model(24, 4);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(8)) {
    model->train();
    for (const Examples& batch : batches({points, points}, 32)) {
      optimizer.zero_grad();
      const auto loss = -model->forward(batch.inputs).mean();
      loss.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 5.0);
      optimizer.step();
      run.inspector.push_loss(loss, /*train=*/true);
    }
    model->eval();
    const torch::NoGradGuard no_grad;
    run.validation_loss(-model->forward(held_out).mean());
  }
}

}  // namespace

std::vector<Trainer> healthy_generative_trainers() {
  return {
      {"", "vae", {}, variational_autoencoder},       {"", "mlp, contrastive", {}, contrastive},
      {"", "mlp, mean teacher", {}, mean_teacher},    {"", "diffusion of points", {}, diffusion},
      {"", "normalizing flow", {}, normalizing_flow},
  };
}

}  // namespace zoo
