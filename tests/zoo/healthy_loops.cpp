// Unusual loops that people write on purpose, and training in stages, rounds and repetitions: models, optimizers
// and data change while one inspector watches.

#include <cmath>
#include <string>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

Examples joined(const Examples& some, const Examples& more) {
  return {torch::cat({some.inputs, more.inputs}), torch::cat({some.answers, more.answers})};
}

/// One pass over the examples, without marking the end of an epoch.
template <typename Model>
void pass_over(Run& run, Model& model, torch::optim::Optimizer& optimizer, const Examples& examples,
               int64_t batch_size = 32) {
  for (const Examples& batch : batches(examples, batch_size, /*drop_last=*/true))
    run.learn(optimizer, cross_entropy(model->forward(batch.inputs), batch.answers));
}

}  // namespace

void add_healthy_loops(Trainers& zoo) {
  // The rate rises from 0 for a third of all steps, then falls to 0 at the last step.
  zoo.add("", "transformer, warm-up and cosine", {}, [](Run& run) {
    const Examples data = texts();
    Transformer model;
    torch::optim::AdamW optimizer(model->parameters(), 0);
    constexpr int64_t warm_up = 40, all = 150;
    fit(run, model, optimizer, data,
        {.epochs = 5, .validation = texts(256), .before_step = [&](int64_t step) {
           nn::utils::clip_grad_norm_(model->parameters(), 1.0);
           const double rising = double(step - 1) / warm_up;
           const double falling = 0.5 * (1 + std::cos(double(step - warm_up) / (all - warm_up) * std::acos(-1.0)));
           set_rate(optimizer, 5e-3 * (step <= warm_up ? rising : falling));
         }});
  });
  // The rate falls tenfold after half of the epochs; the optimizer is RMSprop.
  zoo.add("", "mlp, rate in stairs", {}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 48, 1, [](const torch::Tensor& x) { return torch::gelu(x); });
    torch::optim::RMSprop optimizer(model->parameters(), torch::optim::RMSpropOptions(3e-3));
    fit(run, model, optimizer, data,
        {.epochs = 6, .loss = squared_error, .validation = curves(256), .on_batch = [&](Examples&, int64_t step) {
           if (step == 91) set_rate(optimizer, 3e-4);
         }});
  });
  // Each step uses all examples, so the input never changes; the optimizer evaluates the loss several times per step.
  zoo.add("", "mlp, full batch, lbfgs", {}, [](Run& run) {
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
  });
  zoo.add("", "mlp, full batch, sgd", {}, [](Run& run) {
    const Examples data = curves(256);
    Mlp model(8, 32, 1, torch::tanh);
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      for (int step = 0; step < 25; ++step) run.learn(optimizer, squared_error(model(data.inputs), data.answers));
    }
  });
  // Each step uses the gradients of four batches, and the last step of an epoch those of fewer batches.
  zoo.add("", "cnn, accumulation", {}, [](Run& run) {
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
  });
  // The inspector is attached after a few steps; the last batch of an epoch has seven samples.
  zoo.add("", "mlp, attached midway", {}, [](Run& run) {
    const Examples data = blobs(32 * 30 + 7);
    NormMlp model(16, 32, 4);
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
    for (const Examples& batch : batches(part(data, 0, 128), 16)) {
      descend(optimizer, cross_entropy(model(batch.inputs), batch.answers));
    }
    fit(run, model, optimizer, data);
  });
  // The second of four epochs only validates.
  zoo.add("", "lstm, paused for an epoch", {}, [](Run& run) {
    const Examples data = sequences(), held_out = sequences(256);
    LstmClassifier model;
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
      validate(run, model, held_out);
    }
  });
  // The optimizer holds a part of the model; the program updates the rest itself, as if processes shared the work.
  zoo.add("", "mlp, a part stepped by hand", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    std::vector<torch::Tensor> parameters = model->fc1->parameters();
    for (const auto& parameter : model->fc2->parameters()) parameters.push_back(parameter);
    torch::optim::SGD optimizer(parameters, 0.05);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      model->zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      const torch::NoGradGuard no_grad;
      for (auto& parameter : model->fc3->parameters()) parameter.sub_(0.05 * parameter.grad());
      run.train_loss(loss);
    });
  });
}

void add_healthy_stages(Trainers& zoo) {
  // Each fold has a new model and a new optimizer.
  zoo.add("", "mlp, folds", {}, [](Run& run) {
    constexpr int64_t count = 5, size = 192;
    const Examples data = blobs(count * size);
    for (int64_t fold = 0; fold < count; ++fold) {
      const Examples held_out = part(data, fold * size, (fold + 1) * size);
      const Examples others = joined(part(data, 0, fold * size), part(data, (fold + 1) * size, count * size));
      NormMlp model(16, 32, 4);
      torch::optim::Adam optimizer(model->parameters(), 5e-3);
      run.inspector.attach(*model, optimizer);
      for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
        model->train();
        pass_over(run, model, optimizer, others);
        validate(run, model, held_out);
      }
      run.inspector.detach();
    }
  });
  // The same model is trained at several rates, each under its own name until it is done.
  zoo.add("", "mlp, sweep of rates", {}, [](Run& run) {
    const Examples data = blobs(1216);
    const Examples known = part(data, 0, 960), held_out = part(data, 960, 1216);
    for (const double rate : {0.005, 0.02, 0.05, 0.1}) {
      Mlp model(16, 32, 4);
      torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(rate).momentum(0.9));
      const std::string name = "rate " + std::to_string(rate);
      run.inspector.set_hyperparameter("rate", rate);
      run.inspector.attach(*model, optimizer, name);
      for ([[maybe_unused]] int epoch : run.inspector.epochs(3)) {
        model->train();
        pass_over(run, model, optimizer, known);
        validate(run, model, held_out);
      }
      run.inspector.detach(name);
    }
  });
  // First only the head is trained, then all layers with a second optimizer at a tenth of the rate.
  zoo.add("", "transfer, staged fine-tuning", {}, [](Run& run) {
    const Examples data = images(), held_out = images(256);
    Transfer model;
    freeze(*model->backbone);
    {
      torch::optim::Adam optimizer(model->head->parameters(), 5e-3);
      run.inspector.attach(*model, optimizer);
      for ([[maybe_unused]] int epoch : run.inspector.epochs(3)) {
        model->train();
        model->backbone->eval();
        pass_over(run, model, optimizer, data);
        validate(run, model, held_out);
      }
    }
    for (torch::Tensor& parameter : model->parameters()) parameter.set_requires_grad(true);
    torch::optim::Adam optimizer(model->parameters(), 5e-4);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(3)) {
      model->train();
      pass_over(run, model, optimizer, data);
      validate(run, model, held_out);
    }
  });
  // The samples have more noise in each stage, so that the loss rises when a stage begins.
  zoo.add("", "mlp, curriculum", {}, [](Run& run) {
    const auto centres = torch::randn({4, 16});
    const auto with_noise = [&](int64_t count, double noise) {
      const auto answers = torch::randint(4, {count}, torch::kLong);
      return Examples{centres.index_select(0, answers) + noise * torch::randn({count, 16}), answers};
    };
    const Examples held_out = with_noise(256, 1.2);
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 2e-3);
    run.inspector.attach(*model, optimizer);
    for (int epoch : run.inspector.epochs(6)) {
      model->train();
      pass_over(run, model, optimizer, with_noise(960, epoch <= 2 ? 0.4 : epoch <= 4 ? 0.8 : 1.2));
      validate(run, model, held_out);
    }
  });
  // Reptile: a copy learns each task in a few steps, and the program moves the initial weights towards it by hand.
  zoo.add("", "mlp, reptile", {}, [](Run& run) {
    Mlp start(1, 32, 1, torch::tanh), learner(1, 32, 1, torch::tanh);
    torch::optim::SGD optimizer(learner->parameters(), 0.05);
    run.inspector.attach(*start, "start");
    run.inspector.attach(*learner, optimizer, "learner");
    for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
      for (int task = 0; task < 20; ++task) {
        const double height = 1 + torch::rand({}).item<double>(), phase = torch::rand({}).item<double>();
        copy_weights(*start, *learner);
        for (int step = 0; step < 5; ++step) {
          const auto x = 4 * torch::rand({24, 1}) - 2;
          run.learn(optimizer, squared_error(learner(x), height * torch::sin(2 * x + phase)));
        }
        const torch::NoGradGuard no_grad;
        const auto weights = start->parameters(), learned = learner->parameters();
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i].add_(learned[i] - weights[i], 0.5);
        run.inspector.optimizer_stepped();
      }
    }
  });
  // In each round every client starts from the server's weights, and the server averages the clients' weights. The
  // classes are distributed unevenly over the clients.
  zoo.add("", "mlp, federated", {}, [](Run& run) {
    constexpr int64_t clients = 4, size = 192;
    const Examples all = blobs(clients * size + 256);
    const Examples held_out = part(all, clients * size, clients * size + 256);
    const Examples given = part(all, 0, clients * size);
    // Half of a client's samples come from consecutive places in the order of classes; the others are random.
    const auto order = given.answers.argsort(), any = torch::randperm(clients * size, torch::kLong);
    Mlp server(16, 32, 4);
    run.inspector.attach(*server, "server");
    std::vector<Mlp> models;
    std::vector<torch::optim::SGD> optimizers;
    std::vector<Examples> data;
    optimizers.reserve(clients);
    for (int64_t i = 0; i < clients; ++i) {
      const auto some =
          torch::cat({order.slice(0, i * size, i * size + size / 2), any.slice(0, i * size / 2, (i + 1) * size / 2)});
      data.push_back({given.inputs.index_select(0, some), given.answers.index_select(0, some)});
      models.emplace_back(16, 32, 4);
      optimizers.emplace_back(models.back()->parameters(), 0.1);
      run.inspector.attach(*models.back(), optimizers.back(), "client" + std::to_string(i));
    }
    for ([[maybe_unused]] int round : run.inspector.epochs(12)) {
      for (int64_t i = 0; i < clients; ++i) {
        copy_weights(*server, *models[i]);
        pass_over(run, models[i], optimizers[i], data[i]);
      }
      {
        const torch::NoGradGuard no_grad;
        const auto weights = server->parameters();
        for (std::size_t j = 0; j < weights.size(); ++j) {
          auto sum = torch::zeros_like(weights[j]);
          for (const Mlp& each : models) sum += each->parameters()[j];
          weights[j].copy_(sum / clients);
        }
      }
      validate(run, server, held_out);
    }
  });
  // Each round asks for the answers of which the model is least sure, and continues with more data.
  zoo.add("", "mlp, active learning", {}, [](Run& run) {
    const Examples all = blobs(1216);
    const Examples held_out = part(all, 960, 1216);
    auto known = part(all, 0, 64), pool = part(all, 64, 960);
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(3e-3).weight_decay(1e-4));
    run.inspector.attach(*model, optimizer);
    for (int round = 0; round < 6; ++round) {
      for ([[maybe_unused]] int epoch : run.inspector.epochs(3)) {
        model->train();
        pass_over(run, model, optimizer, known, 16);
        validate(run, model, held_out);
      }
      const torch::NoGradGuard no_grad;
      const auto chances = torch::log_softmax(model(pool.inputs), 1);
      const auto order = (chances.exp() * chances).sum(1).argsort();
      const auto asked = order.slice(0, 0, 48), left = order.slice(0, 48);
      known = joined(known, {pool.inputs.index_select(0, asked), pool.answers.index_select(0, asked)});
      pool = {pool.inputs.index_select(0, left), pool.answers.index_select(0, left)};
    }
  });
  // Answers that the model is sure of are added to the given answers.
  zoo.add("", "mlp, pseudo labels", {}, [](Run& run) {
    const Examples all = blobs(1216);
    const Examples given = part(all, 0, 192), held_out = part(all, 960, 1216);
    const auto pool = all.inputs.slice(0, 192, 960);
    NormMlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    Examples known = given;
    for (int round = 0; round < 4; ++round) {
      for ([[maybe_unused]] int epoch : run.inspector.epochs(round == 0 ? 6 : 2)) {
        model->train();
        pass_over(run, model, optimizer, known, 16);
        validate(run, model, held_out);
      }
      const torch::NoGradGuard no_grad;
      model->eval();
      const auto [certainty, said] = torch::softmax(model(pool), 1).max(1);
      const auto sure = certainty.gt(0.9).nonzero().squeeze(1);
      known = joined(given, {pool.index_select(0, sure), said.index_select(0, sure)});
    }
  });
}

}  // namespace zoo
