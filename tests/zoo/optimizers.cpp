// Faults of learning rates, and steps that change nothing.

#include <algorithm>
#include <cmath>
#include <optional>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

/// The optimizer is created in the loop, so that it forgets its gradient statistics. The healthy trainer creates two
/// optimizers, for two stages.
void made_anew(Run& run, int64_t steps_until_made) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  std::optional<torch::optim::Adam> optimizer(std::in_place, model->parameters(), 1e-3);
  run.inspector.attach(*model, *optimizer);
  constexpr int64_t second_stage = 61;
  int64_t step = 0;
  for_batches(run, 6, data, [&](const Examples& batch) {
    ++step;
    if (run.planted ? step % steps_until_made == 0 : step == second_stage) optimizer.emplace(model->parameters(), 1e-3);
    run.learn(*optimizer, cross_entropy(model->forward(batch.inputs), batch.answers));
  });
}

/// Clips before backward computes the gradients, when all are still 0. The healthy trainer clips after backward.
template <typename Model, typename Optimizer>
void clip_early(Run& run, Model& model, Optimizer&& optimizer, const Examples& data) {
  run.inspector.attach(*model, optimizer);
  const auto clip = [&] { nn::utils::clip_grad_norm_(model->parameters(), 1.0); };
  for_batches(run, 4, data, [&](const Examples& batch) {
    for (torch::Tensor& each : model->parameters()) {
      if (each.grad().defined()) each.mutable_grad().zero_();
    }
    const auto loss = cross_entropy(model->forward(batch.inputs), batch.answers);
    if (run.planted) clip();
    loss.backward();
    if (!run.planted) clip();
    optimizer.step();
    run.train_loss(loss);
  });
}

}  // namespace

void add_optimizers(Trainers& zoo) {
  // The warm-up divides integers, so that the rate is 0 until the warm-up ends. The healthy rate starts at 0, too.
  zoo.add("zero_learning_rate", "mlp, warm-up", {2}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    constexpr int64_t warm_up = 60;
    fit(run, model, optimizer, data, {.before_step = [&](int64_t step) {
          const int64_t done = std::min(step - 1, warm_up);
          set_rate(optimizer, 0.1 * (run.planted ? double(done / warm_up) : double(done) / warm_up));
        }});
  });
  // Cosine annealing reaches 0 half way. The healthy trainer reaches 0 in the last step.
  zoo.add("zero_learning_rate", "cnn, cosine", {61}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    const int64_t length = run.planted ? 60 : 119;
    fit(run, model, optimizer, data, {.before_step = [&](int64_t step) {
          const double share = double(std::min(step - 1, length)) / length;
          set_rate(optimizer, 0.025 * (1 + std::cos(share * std::acos(-1.0))));
        }});
  });
  // The rate of one group was never set.
  zoo.add("zero_learning_rate", "transformer, one group", {1}, [](Run& run) {
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
  });
  // The rate suits weights that are a hundred times as large: nearly all units become silent.
  zoo.add("high_learning_rate", "mlp, adam", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, run.planted ? 1.0 : 1e-2), data);
  });
  // A schedule that is meant for epochs advances with each batch.
  zoo.add("learning_rate_change", "mlp, schedule of epochs", {}, [](Run& run) {
    const Examples data = blobs();
    NormMlp model(16, 32, 4);
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    double rate = 0.05;
    fit(run, model, optimizer, data, {.before_step = [&](int64_t step) {
          if (run.planted || step % 30 == 0) set_rate(optimizer, rate *= 0.6);
        }});
  });
  // The weight decay was taken for a fraction.
  zoo.add("excessive_weight_decay", "mlp", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
    torch::optim::SGD optimizer(model->parameters(),
                                torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(run.planted ? 0.5 : 1e-4));
    fit(run, model, optimizer, data);
  });
  // The initial weights are loaded before each epoch. The healthy trainer loads them once.
  zoo.add("weights_reset", "cnn", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    std::vector<torch::Tensor> kept;
    for (const torch::Tensor& each : model->parameters()) kept.push_back(each.detach().clone());
    fit(run, model, sgd(model, 0.05, 0.9), data, {.epochs = 5, .on_batch = [&](Examples&, int64_t step) {
                                                    if (step != 1 && !(run.planted && step % 30 == 1)) return;
                                                    const torch::NoGradGuard no_grad;
                                                    const auto parameters = model->parameters();
                                                    for (std::size_t i = 0; i < kept.size(); ++i)
                                                      parameters[i].detach().copy_(kept[i]);
                                                  }});
  });
  // The rate is so small that a step is lost in the rounding of the weights.
  zoo.add("no_effect", "mlp, tiny rate", {1}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4, [](const torch::Tensor& x) { return torch::gelu(x); });
    fit(run, model, sgd(model, run.planted ? 1e-14 : 0.1), data);
  });
  // Bfloat16 has 8 significant bits: steps at the usual rate of fine-tuning are rounded away.
  zoo.add("no_effect", "bfloat16 mlp", {1}, [](Run& run) {
    Examples data = blobs();
    data.inputs = data.inputs.to(torch::kBFloat16);
    Mlp model(16, 32, 4);
    model->to(torch::kBFloat16);
    fit(run, model, sgd(model, run.planted ? 1e-7 : 0.1), data,
        {.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
          return cross_entropy(output.to(torch::kFloat), answers);
        }});
  });
  // The optimizer holds copies of the parameters, as after a conversion that was meant to be in place.
  zoo.add("no_effect", "cnn, copies", {1}, [](Run& run) {
    const Examples data = images();
    auto model = plain_cnn();
    std::vector<torch::Tensor> parameters = model->parameters();
    if (run.planted) {
      for (torch::Tensor& parameter : parameters) parameter = parameter.detach().clone().set_requires_grad(true);
    }
    torch::optim::Adam optimizer(parameters, 3e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      model->zero_grad();
      const auto loss = cross_entropy(model->forward(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    });
  });
  zoo.add("new_optimizer", "mlp, adam of each epoch", {}, [](Run& run) { made_anew(run, 30); });
  zoo.add("new_optimizer", "mlp, adam of each step", {}, [](Run& run) { made_anew(run, 1); });
  zoo.add("update_ratio", "mlp, too small", {}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 32, 1, torch::tanh);
    fit(run, model, adam(model, run.planted ? 1e-7 : 1e-2), data, {.loss = squared_error});
  });
  // The clipping limit has the wrong sign in its exponent.
  zoo.add("tiny_clip", "lstm, by norm", {}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    fit(run, model, sgd(model, 0.5, 0.9), data,
        {.before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), run.planted ? 1e-6 : 1.0); }});
  });
  // Adam's step has the same size for gradients of any size, unless they are small compared with its eps.
  zoo.add("tiny_clip", "mlp, adam, by value", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 3e-3), data, {.before_step = [&](int64_t) {
          nn::utils::clip_grad_value_(model->parameters(), run.planted ? 1e-10 : 1e-3);
        }});
  });
  zoo.add("early_clip", "mlp, sgd", {4}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    clip_early(run, model, sgd(model, 0.05, 0.9), data);
  });
  zoo.add("early_clip", "lstm, adam", {4}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    clip_early(run, model, adam(model, 1e-2), data);
  });
  // The schedule changes a rate that no step reads.
  zoo.add("unused_rate", "cnn, sgd, warm-up", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    fit(run, model, optimizer, data, {.before_step = [&](int64_t step) {
          const double rate = 0.05 * double(std::min<int64_t>(step, 20)) / 20;
          optimizer.defaults().set_lr(rate);
          if (!run.planted) set_rate(optimizer, rate);
        }});
  });
  zoo.add("unused_rate", "mlp, adam, by epochs", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 1e-2);
    fit(run, model, optimizer, data, {.before_step = [&](int64_t step) {
          if (step % 30 != 0) return;
          const double rate = 1e-2 * std::pow(0.7, double(step) / 30);
          // The healthy trainer sets the default rate once, for a future group.
          if (run.planted || step == 60) optimizer.defaults().set_lr(rate);
        }});
  });
  zoo.add("update_ratio", "cnn, too large", {}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    fit(run, model, adam(model, run.planted ? 1.0 : 3e-3), data);
  });
  zoo.add("update_ratio", "transformer, too large", {}, [](Run& run) {
    const Examples data = texts();
    Transformer model;
    torch::optim::AdamW optimizer(model->parameters(), run.planted ? 0.5 : 3e-3);
    fit(run, model, optimizer, data);
  });
}

}  // namespace zoo
