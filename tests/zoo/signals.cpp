// Faults of initial weights and inputs, and of values and gradients between layers.

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {

void add_starts(Trainers& zoo) {
  zoo.add("poor_initialization", "mlp, zeros", {{}, {"fc1", "fc2", "fc3"}}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    if (run.planted) {
      for (torch::Tensor& parameter : model->parameters()) nn::init::zeros_(parameter);
    }
    fit(run, model, sgd(model, 0.05, 0.9), data);
  });
  // All units of a layer start equal and stay equal.
  zoo.add("poor_initialization", "bag of words, equal units", {{}, {"fc1", "fc2"}}, [](Run& run) {
    const Examples data = texts();
    BagOfWords model;
    if (run.planted) {
      for (auto* layer : {model->fc1.get(), model->fc2.get()}) {
        nn::init::constant_(layer->weight, 0.05);
        nn::init::zeros_(layer->bias);
      }
    }
    fit(run, model, adam(model, 1e-2), data);
  });
  zoo.add("poor_initialization", "cnn, equal units", {{}, {"0", "3", "6"}}, [](Run& run) {
    const Examples data = images();
    auto model = plain_cnn();
    if (run.planted) {
      for (torch::Tensor& parameter : model->parameters()) nn::init::constant_(parameter, 0.05);
    }
    fit(run, model, adam(model, 3e-3), data);
  });
  // Outputs shrink from layer to layer: weights of all widths come from one normal distribution.
  zoo.add("poor_initialization", "deep mlp, shrinking outputs", {}, [](Run& run) {
    const Examples data = curves();
    auto model = deep_mlp(8, 64, 1, 5, nn::AnyModule(nn::ReLU()));
    for (auto& layer : model->children()) {
      if (auto* linear = layer->as<nn::Linear>()) {
        if (run.planted) {
          nn::init::normal_(linear->weight, 0, 0.03);
        } else {
          nn::init::kaiming_normal_(linear->weight, 0, torch::kFanIn, torch::kReLU);
        }
        nn::init::zeros_(linear->bias);
      }
    }
    fit(run, model, adam(model, 2e-3), data, {.loss = squared_error});
  });
  // Outputs grow from layer to layer: the weights are six times too large.
  zoo.add("poor_initialization", "deep mlp, growing outputs", {}, [](Run& run) {
    const Examples data = curves();
    auto model = deep_mlp(8, 32, 1, 6, nn::AnyModule(nn::ReLU()));
    for (auto& layer : model->children()) {
      if (auto* linear = layer->as<nn::Linear>()) nn::init::kaiming_normal_(linear->weight);
    }
    if (run.planted) scale_weights(*model, 6);
    fit(run, model, adam(model, 1e-3), data, {.loss = squared_error});
  });
  // The pixels are not normalized: 0 to 255.
  zoo.add("unnormalized_input", "cnn, raw pixels", {{}, {"", "Cnn", "conv1"}}, [](Run& run) {
    Examples data = images();
    const auto pixels = (data.inputs * 50 + 128).clamp(0, 255).round();
    data.inputs = run.planted ? pixels : (pixels - 128) / 50;
    Cnn model;
    fit(run, model, adam(model, 3e-3), data);
  });
  // One feature is far from 0, like a pressure in hectopascals.
  zoo.add("unnormalized_input", "mlp, offset", {{}, {"", "Mlp", "fc1"}}, [](Run& run) {
    Examples data = blobs();
    if (run.planted) data.inputs = data.inputs + 1000;
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 3e-3), data);
  });
  // The inputs are prices in whole units: thousands.
  zoo.add("unnormalized_input", "lstm, large values", {{}, {"", "LstmClassifier", "lstm"}}, [](Run& run) {
    Examples data = sequences();
    if (run.planted) data.inputs = data.inputs * 5000;
    LstmClassifier model;
    fit(run, model, adam(model, 1e-2), data);
  });
}

void add_signals(Trainers& zoo) {
  // A deep stack has sigmoids. The healthy model has ReLU.
  zoo.add("vanishing_gradient", "deep mlp, sigmoid", {{}, {"0", "2", "4", "6"}}, [](Run& run) {
    const Examples data = blobs();
    auto model = deep_mlp(16, 32, 4, 8, run.planted ? nn::AnyModule(nn::Sigmoid()) : nn::AnyModule(nn::ReLU()));
    for (auto& layer : model->children()) {
      if (auto* linear = layer->as<nn::Linear>()) {
        nn::init::kaiming_normal_(linear->weight, 0, torch::kFanIn, torch::kReLU);
        nn::init::zeros_(linear->bias);
      }
    }
    fit(run, model, adam(model, 2e-3), data);
  });
  // The weights of a deep stack with tanh are too small.
  zoo.add("vanishing_gradient", "deep mlp, tanh", {{}, {"0", "2", "4"}}, [](Run& run) {
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
    fit(run, model, sgd(model, 0.02, 0.9), data, {.loss = squared_error});
  });
  // The weights are so large that signals grow from each tanh to the next, and gradients grow on their way back.
  zoo.add("exploding_gradient", "deep mlp, tanh", {}, [](Run& run) {
    const Examples data = curves();
    auto model = deep_mlp(8, 48, 1, 14, nn::AnyModule(nn::Tanh()));
    for (auto& layer : model->children()) {
      if (auto* linear = layer->as<nn::Linear>()) nn::init::xavier_normal_(linear->weight, run.planted ? 5 : 1.2);
    }
    fit(run, model, adam(model, 1e-3), data, {.loss = squared_error});
  });
  // The state, and the gradient, of a recurrent net with ReLU doubles at each time.
  zoo.add("exploding_gradient", "rnn, large weights", {}, [](Run& run) {
    const Examples data = sequences(960, 20);
    ReluRnn model;
    nn::init::orthogonal_(model->rnn->named_parameters()["weight_hh_l0"], run.planted ? 2.0 : 0.8);
    fit(run, model, adam(model, 2e-3), data);
  });
  // A bias keeps a whole layer silent. In the healthy model, three quarters of it are silent, and the others learn.
  zoo.add("dead_units", "mlp, bias", {{}, {"fc1:relu"}}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 48, 4);
    nn::init::constant_(model->fc1->bias.slice(0, 0, run.planted ? 48 : 36), -10);
    fit(run, model, adam(model, 3e-3), data);
  });
  // A bias keeps a whole convolution silent; in the healthy model, five units in eight.
  zoo.add("dead_units", "cnn, bias", {{}, {"4"}}, [](Run& run) {
    auto model = plain_cnn();
    const auto bias = model[3]->as<nn::Conv2d>()->bias;
    nn::init::constant_(bias.slice(0, 0, run.planted ? bias.size(0) : bias.size(0) * 5 / 8), -10);
    fit(run, model, sgd(model, 0.03, 0.9), images());
  });
  // All channels are shifted so far below 0 that ReLU returns only 0; in the healthy model, five of eight.
  zoo.add("dead_units", "cnn, shifted batch norm", {{}, {"bn1:relu"}}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    nn::init::constant_(model->bn1->bias.slice(0, 0, run.planted ? 8 : 5), -6);
    fit(run, model, adam(model, 3e-3), data);
  });
  // The weights have a standard deviation of 10 instead of 0.1, which presses tanh to its bounds.
  zoo.add("saturated_activation", "mlp, tanh", {{}, {"fc1:tanh"}}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 32, 1, torch::tanh);
    if (run.planted) nn::init::normal_(model->fc1->weight, 0, 10);
    fit(run, model, adam(model, 5e-3), data, {.loss = squared_error});
  });
  // The last layer but one was drawn from the wrong distribution.
  zoo.add("saturated_activation", "cnn, sigmoid", {{}, {"4"}}, [](Run& run) {
    const Examples data = images();
    auto model = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3)), nn::ReLU(), nn::Flatten(),
                                nn::Linear(8 * 6 * 6, 32), nn::Sigmoid(), nn::Linear(32, 4));
    if (run.planted) nn::init::normal_(model[3]->as<nn::Linear>()->weight, 0, 10);
    fit(run, model, adam(model, 3e-3), data);
  });
  // The decay of weights is a thousand times too strong: weights shrink to 0, and only the biases matter.
  zoo.add("constant_output", "mlp, weight decay", {{}, {"fc1", "fc1:relu", "fc2", "fc2:relu", "fc3"}}, [](Run& run) {
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
    fit(run, model, optimizer, data, {.epochs = 6});
  });
  // The policy has only one action, so there is nothing to choose. The healthy policy has two.
  zoo.add("constant_output", "actor and critic, one action", {{}, {"actor.4:softmax"}}, [](Run& run) {
    const Examples data = curves(960, 4);
    Branches model(4, 32, run.planted ? 1 : 2);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      optimizer.zero_grad();
      const auto value = model->critic->forward(batch.inputs);
      const auto policy = torch::softmax(model->actor->forward(batch.inputs), 1);
      const auto advantage = (batch.answers - value).detach();
      const auto loss = squared_error(value, batch.answers) - 0.1 * (policy.select(1, 0).log() * advantage).mean();
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    });
  });
  // The softmax is taken over the single score of each time instead of over time, so that it is always 1.
  zoo.add("constant_output", "lstm, attention", {{}, {"score:softmax"}}, [](Run& run) {
    const Examples data = sequences();
    AttentiveLstm model;
    if (run.planted) model->softmax_dimension = 2;
    fit(run, model, adam(model, 1e-2), data);
  });
}

}  // namespace zoo
