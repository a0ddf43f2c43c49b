// Losses, optimizers and gradients that are unusual on purpose, and that must not be taken for faults.

#include <cmath>

#include "zoo/fit.h"
#include "zoo/program_models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// Least squares to the end, and many steps more: nothing is left to change.
void converged_lbfgs(Run& run) {
  const auto inputs = torch::randn({512, 8});
  const auto answers = inputs.matmul(torch::randn({8, 1})) + 0.1 * torch::randn({512, 1});
  auto model = nn::Sequential(nn::Linear(8, 1));
  torch::optim::LBFGS optimizer(model->parameters(),
                                torch::optim::LBFGSOptions(1).max_iter(4).line_search_fn("strong_wolfe"));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    for (int step = 0; step < 20; ++step) {
      run.train_loss(optimizer.step([&] {
        optimizer.zero_grad();
        const auto loss = squared_error(model->forward(inputs), answers);
        loss.backward();
        return loss;
      }));
    }
  }
}

/// Long signals in stretches: the state goes on, its history does not.
void truncated_backpropagation(Run& run) {
  constexpr int64_t streams = 16, stretch = 20, stretches = 24;
  const auto time = torch::arange(stretch * stretches + 1, torch::kFloat).unsqueeze(0);
  const auto phase = 6.2832 * torch::rand({streams, 1});
  const auto signal = (torch::sin(0.3 * time + phase) + torch::sin(0.47 * time + 2 * phase)).unsqueeze(2);
  SignalLstm model(24);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    LstmState state{torch::zeros({1, streams, 24}), torch::zeros({1, streams, 24})};
    for (int64_t i = 0; i < stretches; ++i) {
      const auto heard = signal.slice(1, i * stretch, (i + 1) * stretch);
      const auto next = signal.slice(1, i * stretch + 1, (i + 1) * stretch + 1);
      optimizer.zero_grad();
      const auto [told, last] = model->forward(heard, state);
      const auto loss = squared_error(told, next);
      loss.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 1.0);
      optimizer.step();
      run.train_loss(loss);
      state = {std::get<0>(last).detach(), std::get<1>(last).detach()};
    }
  }
}

/// PINN: solves u'' = -pi^2 sin(pi x) with u = 0 at both ends, at other points in each step.
void physics_informed(Run& run) {
  const double pi = std::acos(-1.0);
  Mlp model(1, 24, 1, torch::tanh);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  const auto ends = torch::tensor({0.0F, 1.0F}).unsqueeze(1);
  const auto derivative = [](const torch::Tensor& u, const torch::Tensor& x) {
    return torch::autograd::grad({u}, {x}, {torch::ones_like(u)}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  };
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    for (int step = 0; step < 60; ++step) {
      const auto x = torch::rand({64, 1}).set_requires_grad(true);
      optimizer.zero_grad();
      const auto u = model->forward(x);
      const auto residual = derivative(derivative(u, x), x) + pi * pi * torch::sin(pi * x);
      const auto loss = residual.square().mean() + 10 * model->forward(ends).square().mean();
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// Only corrections of a low rank learn; while the factor B is 0, the factor A gets no gradient.
void low_rank_adapter(Run& run) {
  const Examples data = blobs();
  Mlp pretrained(16, 32, 4);
  {
    torch::optim::Adam optimizer(pretrained->parameters(), 5e-3);
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const Examples& batch : batches(data, 32)) {
        optimizer.zero_grad();
        cross_entropy(pretrained(batch.inputs), batch.answers).backward();
        optimizer.step();
      }
    }
  }
  LoraMlp model(pretrained, 4);
  std::vector<torch::Tensor> adapters;
  for (const torch::Tensor& parameter : model->parameters()) {
    if (parameter.requires_grad()) adapters.push_back(parameter);
  }
  torch::optim::AdamW optimizer(adapters, 5e-3);
  // The new task has the features in another order.
  fit(run, model, optimizer, {data.inputs.roll(1, 1), data.answers});
}

/// The loss is a sum over the batch, so that gradients are large and the rate is small.
void summed_loss(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9));
  Loop loop;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    return nn::functional::cross_entropy(output, answers,
                                         nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
  };
  fit(run, model, optimizer, data, loop);
}

/// A hinge loss of small batches: now and then all answers have their margin, and nothing is to be learned.
void hinge_of_small_batches(Run& run) {
  const Examples data = blobs(800, 16, 4);
  Mlp model(16, 24, 4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  Loop loop;
  loop.epochs = 5;
  loop.batch = 8;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    const auto right = output.gather(1, answers.unsqueeze(1));
    const auto others = output.scatter(1, answers.unsqueeze(1), -1e4);
    return torch::clamp(1 + std::get<0>(others.max(1, /*keepdim=*/true)) - right, 0).mean();
  };
  fit(run, model, optimizer, data, loop);
}

void batches_of_one(Run& run) {
  const Examples data = blobs(120);
  auto model = nn::Sequential(nn::Linear(16, 12), nn::ReLU(), nn::Linear(12, 4));
  torch::optim::SGD optimizer(model->parameters(), 0.02);
  Loop loop;
  loop.batch = 1;
  fit(run, model, optimizer, data, loop);
}

/// A sensor fails for an epoch, and the loss of one batch is Inf; the program sees it in the gradients and keeps its
/// weights.
void skipped_outlier(Run& run) {
  const Examples data = curves();
  const auto sensor = data.inputs[77][2];
  const auto right = sensor.clone();
  Mlp model(8, 32, 1);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for (int epoch : run.inspector.epochs(5)) {
    sensor.copy_(epoch == 3 ? torch::tensor(1e25F) : right);
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = squared_error(model(batch.inputs), batch.answers);
      loss.backward();
      run.train_loss(loss);
      if (std::isfinite(nn::utils::clip_grad_norm_(model->parameters(), 5.0))) optimizer.step();
    }
  }
}

/// Mixed precision's way: the loss is scaled up until it overflows, and a step that overflowed is left out.
void scaled_loss(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  double scale = 65536;
  int good = 0;
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      (loss.to(torch::kHalf) * scale).backward();
      run.train_loss(loss);
      bool finite = true;
      for (torch::Tensor& parameter : model->parameters()) {
        parameter.mutable_grad().div_(scale);
        finite = finite && parameter.grad().isfinite().all().item<bool>();
      }
      if (finite) optimizer.step();
      good = finite ? good + 1 : 0;
      if (!finite) scale /= 2;
      if (good > 0 && good % 60 == 0) scale *= 2;
    }
  }
}

}  // namespace

std::vector<Trainer> healthy_program_trainers() {
  return {
      {"", "least squares, lbfgs converged", {}, converged_lbfgs},
      {"", "lstm, truncated backpropagation", {}, truncated_backpropagation},
      {"", "physics-informed net", {}, physics_informed},
      {"", "mlp, low-rank adapter", {}, low_rank_adapter},
      {"", "mlp, summed loss", {}, summed_loss},
      {"", "mlp, hinge of small batches", {}, hinge_of_small_batches},
      {"", "mlp, batches of one", {}, batches_of_one},
      {"", "mlp, outlier skipped", {}, skipped_outlier},
      {"", "cnn, scaled loss", {}, scaled_loss},
  };
}

}  // namespace zoo
