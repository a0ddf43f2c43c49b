// What training begins with: weights and inputs.

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

void zero_weights_mlp(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  if (run.planted) {
    for (torch::Tensor& parameter : model->parameters()) nn::init::zeros_(parameter);
  }
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  fit(run, model, optimizer, data);
}

/// All units of a layer begin the same, and stay the same.
void equal_units_words(Run& run) {
  const Examples data = texts();
  BagOfWords model;
  if (run.planted) {
    for (auto* layer : {model->fc1.get(), model->fc2.get()}) {
      nn::init::constant_(layer->weight, 0.05);
      nn::init::zeros_(layer->bias);
    }
  }
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  fit(run, model, optimizer, data);
}

void equal_units_cnn(Run& run) {
  const Examples data = images();
  auto model = plain_cnn();
  if (run.planted) {
    for (torch::Tensor& parameter : model->parameters()) nn::init::constant_(parameter, 0.05);
  }
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// Outputs shrink from layer to layer: one normal distribution for all widths.
void shrinking_outputs_mlp(Run& run) {
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
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// Outputs grow from layer to layer: weights six times too large.
void growing_outputs_mlp(Run& run) {
  const Examples data = curves();
  auto model = deep_mlp(8, 32, 1, 6, nn::AnyModule(nn::ReLU()));
  for (auto& layer : model->children()) {
    if (auto* linear = layer->as<nn::Linear>()) nn::init::kaiming_normal_(linear->weight);
  }
  if (run.planted) scale_weights(*model, 6);
  torch::optim::Adam optimizer(model->parameters(), 1e-3);
  Loop loop;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// Pixels as the file has them, 0 to 255.
void raw_pixels_cnn(Run& run) {
  Examples data = images();
  const auto pixels = (data.inputs * 50 + 128).clamp(0, 255).round();
  data.inputs = run.planted ? pixels : (pixels - 128) / 50;
  Cnn model;
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// One measure is far from 0: a pressure in hectopascals.
void offset_mlp(Run& run) {
  Examples data = blobs();
  if (run.planted) data.inputs = data.inputs + 1000;
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// Prices in whole units: thousands.
void large_values_lstm(Run& run) {
  Examples data = sequences();
  if (run.planted) data.inputs = data.inputs * 5000;
  LstmClassifier model;
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  fit(run, model, optimizer, data);
}

}  // namespace

std::vector<Trainer> start_trainers() {
  return {
      {"poor_initialization", "mlp, zeros", {{}, {"fc1", "fc2", "fc3"}}, zero_weights_mlp},
      {"poor_initialization", "bag of words, equal units", {{}, {"fc1", "fc2"}}, equal_units_words},
      {"poor_initialization", "cnn, equal units", {{}, {"0", "3", "6"}}, equal_units_cnn},
      {"poor_initialization", "deep mlp, shrinking outputs", {}, shrinking_outputs_mlp},
      {"poor_initialization", "deep mlp, growing outputs", {}, growing_outputs_mlp},
      {"unnormalized_input", "cnn, raw pixels", {{}, {"", "Cnn", "conv1"}}, raw_pixels_cnn},
      {"unnormalized_input", "mlp, offset", {{}, {"", "Mlp", "fc1"}}, offset_mlp},
      {"unnormalized_input", "lstm, large values", {{}, {"", "LstmClassifier", "lstm"}}, large_values_lstm},
  };
}

}  // namespace zoo
