// What passes forward and backward between layers.

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// Sigmoids in a deep stack. The healthy one has ReLU.
void deep_sigmoid_mlp(Run& run) {
  const Examples data = blobs();
  auto model = deep_mlp(16, 32, 4, 8, run.planted ? nn::AnyModule(nn::Sigmoid()) : nn::AnyModule(nn::ReLU()));
  for (auto& layer : model->children()) {
    if (auto* linear = layer->as<nn::Linear>()) {
      nn::init::kaiming_normal_(linear->weight, 0, torch::kFanIn, torch::kReLU);
      nn::init::zeros_(linear->bias);
    }
  }
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  fit(run, model, optimizer, data);
}

/// Weights drawn too small for tanh in a deep stack.
void deep_tanh_mlp(Run& run) {
  const Examples data = curves();
  auto model = deep_mlp(8, 48, 1, 7, nn::AnyModule(nn::Tanh()));
  for (auto& layer : model->children()) {
    if (auto* linear = layer->as<nn::Linear>()) {
      if (run.planted) {
        nn::init::normal_(linear->weight, 0, 0.02);
      } else {
        nn::init::xavier_normal_(linear->weight, 5.0 / 3);
      }
    }
  }
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// A recurrent net of ReLU whose state, and gradient, doubles from time to time.
void growing_rnn(Run& run) {
  const Examples data = sequences(960, 20);
  ReluRnn model;
  nn::init::orthogonal_(model->rnn->named_parameters()["weight_hh_l0"], run.planted ? 2.0 : 0.8);
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  fit(run, model, optimizer, data);
}

/// Weights so large that a change in front grows from each tanh to the next, and gradients on their way back.
void chaotic_tanh_mlp(Run& run) {
  const Examples data = curves();
  auto model = deep_mlp(8, 48, 1, 14, nn::AnyModule(nn::Tanh()));
  for (auto& layer : model->children()) {
    if (auto* linear = layer->as<nn::Linear>()) nn::init::xavier_normal_(linear->weight, run.planted ? 5 : 1.2);
  }
  torch::optim::Adam optimizer(model->parameters(), 1e-3);
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// A bias that keeps a whole layer silent. In the healthy one it is three quarters of it, and the others learn.
void negative_bias_mlp(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 48, 4);
  nn::init::constant_(model->fc1->bias.slice(0, 0, run.planted ? 48 : 36), -10);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// The first steps are so large that most units of a convolution never speak again.
void knocked_out_cnn(Run& run) {
  const Examples data = images();
  auto model = plain_cnn();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.03).momentum(0.9));
  Loop loop;
  loop.before_step = [&](int64_t step) { set_rate(optimizer, run.planted && step <= 3 ? 5.0 : 0.03); };
  fit(run, model, optimizer, data, loop);
}

/// All channels are shifted far below what ReLU lets through; in the healthy one, five of eight.
void shifted_batch_norm_cnn(Run& run) {
  const Examples data = images();
  Cnn model;
  nn::init::constant_(model->bn1->bias.slice(0, 0, run.planted ? 8 : 5), -6);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// Weights drawn with a deviation of 10, where 0.1 was meant, press tanh to its bounds.
void saturated_tanh_mlp(Run& run) {
  const Examples data = curves();
  Mlp model(8, 32, 1, torch::tanh);
  if (run.planted) nn::init::normal_(model->fc1->weight, 0, 10);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// The last layer but one was drawn from the wrong distribution.
void saturated_sigmoid_cnn(Run& run) {
  const Examples data = images();
  auto model = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3)), nn::ReLU(), nn::Flatten(),
                              nn::Linear(8 * 6 * 6, 32), nn::Sigmoid(), nn::Linear(32, 4));
  if (run.planted) nn::init::normal_(model[3]->as<nn::Linear>()->weight, 0, 10);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// Weight decay a thousand times too strong, and not of biases: weights go to 0 and biases answer alone.
void decayed_mlp(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  std::vector<torch::Tensor> weights, biases;
  for (const auto& parameter : model->parameters()) (parameter.dim() > 1 ? weights : biases).push_back(parameter);
  using torch::optim::SGDOptions;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  const double decay = run.planted ? 2.0 : 2e-3;
  groups.emplace_back(weights, std::make_unique<SGDOptions>(SGDOptions(0.1).weight_decay(decay)));
  groups.emplace_back(biases, std::make_unique<SGDOptions>(SGDOptions(0.1)));
  torch::optim::SGD optimizer(groups, SGDOptions(0.1));
  Loop loop;
  loop.epochs = 6;
  fit(run, model, optimizer, data, loop);
}

/// Shares are taken over the one score of each time instead of over time: always 1.
void attention_over_one(Run& run) {
  const Examples data = sequences();
  AttentiveLstm model;
  if (run.planted) model->softmax_dimension = 2;
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  fit(run, model, optimizer, data);
}

/// The policy of one action has nothing to choose. The healthy one has two.
void policy_of_one_action(Run& run) {
  const Examples data = curves(960, 4);
  Branches model(4, 32, run.planted ? 1 : 2);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto value = model->critic->forward(batch.inputs);
      const auto policy = torch::softmax(model->actor->forward(batch.inputs), 1);
      const auto advantage = (batch.answers - value).detach();
      const auto loss = squared_error(value, batch.answers) - 0.1 * (policy.select(1, 0).log() * advantage).mean();
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

}  // namespace

std::vector<Trainer> signal_trainers() {
  return {
      {"vanishing_gradient", "deep mlp, sigmoid", {{}, {"0", "2", "4", "6"}}, deep_sigmoid_mlp},
      {"vanishing_gradient", "deep mlp, tanh", {{}, {"0", "2", "4"}}, deep_tanh_mlp},
      {"exploding_gradient", "deep mlp, tanh", {}, chaotic_tanh_mlp},
      {"exploding_gradient", "rnn, large weights", {}, growing_rnn},
      {"dead_units", "mlp, bias", {{}, {"fc1:relu"}}, negative_bias_mlp},
      {"dead_units", "cnn, knocked out", {{}, {"1", "4"}}, knocked_out_cnn},
      {"dead_units", "cnn, shifted batch norm", {{}, {"bn1:relu"}}, shifted_batch_norm_cnn},
      {"saturated_activation", "mlp, tanh", {{}, {"fc1:tanh"}}, saturated_tanh_mlp},
      {"saturated_activation", "cnn, sigmoid", {{}, {"4"}}, saturated_sigmoid_cnn},
      {"constant_output", "mlp, weight decay", {{}, {"fc1", "fc1:relu", "fc2", "fc2:relu", "fc3"}}, decayed_mlp},
      {"constant_output", "actor and critic, one action", {{}, {"actor.4:softmax"}}, policy_of_one_action},
      {"constant_output", "lstm, attention", {{}, {"score:softmax"}}, attention_over_one},
  };
}

}  // namespace zoo
