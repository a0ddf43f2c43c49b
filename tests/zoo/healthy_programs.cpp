// Losses, optimizers and gradients that are unusual on purpose, and models that learn without answers: from their
// own inputs, or from noise.

#include <algorithm>
#include <cmath>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

/// Two interleaved half circles with a little noise.
torch::Tensor moons(int64_t count) {
  const auto angle = std::acos(-1.0) * torch::rand({count});
  const auto lower = torch::rand({count}).lt(0.5);
  const auto x = torch::where(lower, 1 - torch::cos(angle), torch::cos(angle)) - 0.5;
  const auto y = torch::where(lower, 0.5 - torch::sin(angle), torch::sin(angle)) - 0.25;
  return torch::stack({x, y}, 1) + 0.05 * torch::randn({count, 2});
}

}  // namespace

void add_healthy_programs(Trainers& zoo) {
  // Least squares is solved to convergence, and then many more steps change nothing.
  zoo.add("", "least squares, lbfgs converged", {}, [](Run& run) {
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
  });
  // Long signals are cut into pieces: the state is kept from piece to piece, its gradient history is not.
  zoo.add("", "lstm, truncated backpropagation", {}, [](Run& run) {
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
  });
  // PINN: solves u'' = -pi^2 sin(pi x) with u = 0 at both ends, at new random points in each step.
  zoo.add("", "physics-informed net", {}, [](Run& run) {
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
  });
  // Only low-rank corrections are trained; while the factor B is 0, the factor A gets no gradient.
  zoo.add("", "mlp, low-rank adapter", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp pretrained(16, 32, 4);
    {
      torch::optim::Adam optimizer(pretrained->parameters(), 5e-3);
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (const Examples& batch : batches(data, 32)) {
          descend(optimizer, cross_entropy(pretrained(batch.inputs), batch.answers));
        }
      }
    }
    LoraMlp model(pretrained, 4);
    std::vector<torch::Tensor> adapters;
    for (const torch::Tensor& parameter : model->parameters()) {
      if (parameter.requires_grad()) adapters.push_back(parameter);
    }
    torch::optim::AdamW optimizer(adapters, 5e-3);
    // The new task has the features in a different order.
    fit(run, model, optimizer, {data.inputs.roll(1, 1), data.answers});
  });
  // The loss is a sum over the batch, so that gradients are large and the rate is small.
  zoo.add("", "mlp, summed loss", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, sgd(model, 1e-3, 0.9), data,
        {.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
          return nn::functional::cross_entropy(output, answers,
                                               nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
        }});
  });
  // With the hinge loss and small batches, sometimes all answers of a batch have their margin and the loss is 0.
  zoo.add("", "mlp, hinge of small batches", {}, [](Run& run) {
    const Examples data = blobs(800, 16, 4);
    Mlp model(16, 24, 4);
    fit(run, model, sgd(model, 0.02, 0.9), data,
        {.epochs = 5, .batch = 8, .loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
           const auto right = output.gather(1, answers.unsqueeze(1));
           const auto others = output.scatter(1, answers.unsqueeze(1), -1e4);
           return torch::clamp(1 + std::get<0>(others.max(1, /*keepdim=*/true)) - right, 0).mean();
         }});
  });
  zoo.add("", "mlp, batches of one", {}, [](Run& run) {
    const Examples data = blobs(120);
    auto model = nn::Sequential(nn::Linear(16, 12), nn::ReLU(), nn::Linear(12, 4));
    fit(run, model, sgd(model, 0.02), data, {.batch = 1});
  });
  // A sensor fails for an epoch, and the loss of one batch is Inf; the program detects it in the gradients and skips
  // the step.
  zoo.add("", "mlp, outlier skipped", {}, [](Run& run) {
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
  });
  // The loop works like mixed precision: the loss is scaled up until it overflows, and a step that overflowed is
  // skipped.
  zoo.add("", "cnn, scaled loss", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    double scale = 65536;
    int good = 0;
    for_batches(run, 5, data, [&](const Examples& batch) {
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
    });
  });
}

void add_healthy_generative(Trainers& zoo) {
  // The inputs have 16 features that depend on two hidden numbers.
  zoo.add("", "vae", {}, [](Run& run) {
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
      for (const Examples& batch : batches({inputs, inputs}, 32)) run.learn(optimizer, loss_of(batch.inputs));
      model->eval();
      const torch::NoGradGuard no_grad;
      run.validation_loss(loss_of(held_out));
    }
  });
  // InfoNCE: each sample must be recognized within the batch after two random changes.
  zoo.add("", "mlp, contrastive", {}, [](Run& run) {
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
        run.learn(optimizer, 0.5 * (cross_entropy(likeness, own) + cross_entropy(likeness.t(), own)));
      }
    }
  });
  // A few samples have answers; for the others the student should agree with a teacher, the average of past students.
  zoo.add("", "mlp, mean teacher", {}, [](Run& run) {
    const Examples data = blobs(), held_out = part(data, 800);
    const auto known = data.inputs.slice(0, 0, 96), answers = data.answers.slice(0, 0, 96);
    const auto unknown = data.inputs.slice(0, 96, 800);
    NormMlp student(16, 32, 4), teacher(16, 32, 4);
    copy_weights(*student, *teacher);
    freeze(*teacher);
    teacher->eval();
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
      validate(run, teacher, held_out);
    }
  });
  // The loss is a sum, and its gradients are divided by the number of terms, which differs from batch to batch.
  zoo.add("", "lstm, gradients divided by the number of steps in time", {}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    auto optimizer = sgd(model, 0.5, 0.9);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      optimizer.zero_grad();
      const auto count = double(torch::randint(400, 1200, {1}).item<int64_t>());
      const auto loss = cross_entropy(model->forward(batch.inputs), batch.answers);
      (count * loss).backward();
      for (torch::Tensor& each : model->parameters()) each.mutable_grad().mul_(1 / count);
      optimizer.step();
      run.train_loss(loss);
    });
  });
  // Predicts the noise in points of two half circles, for any share of noise.
  const auto denoise = [](Run& run, bool begins_with_zeros) {
    const auto points = moons(960) / 0.6;
    Denoiser model(64);
    if (begins_with_zeros) {
      for (torch::Tensor& each : model->net->fc3->parameters()) nn::init::zeros_(each);
    }
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
  };
  zoo.add("", "diffusion of points", {}, [denoise](Run& run) { denoise(run, /*begins_with_zeros=*/false); });
  zoo.add("", "diffusion of points, zeros in the output", {}, [denoise](Run& run) { denoise(run, true); });
  // The density grows beyond 1, so that its negative logarithm crosses 0.
  zoo.add("", "normalizing flow", {}, [](Run& run) {
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
  });
}

}  // namespace zoo
