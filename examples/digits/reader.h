#pragma once

#include <torch/torch.h>

namespace examples {

namespace nn = torch::nn;

/// A small convolutional network: {batch, 1, 8, 8} images to {batch, 10} scores.
struct ReaderImpl : nn::Module {
  ReaderImpl()
      : features(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::BatchNorm2d(16), nn::ReLU(),
                 nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::BatchNorm2d(32), nn::ReLU(),
                 nn::MaxPool2d(2)),
        hidden(32 * 4 * 4, 64),
        dropout(0.25),
        output(64, 10) {
    register_module("features", features);
    register_module("hidden", hidden);
    register_module("dropout", dropout);
    register_module("output", output);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = features->forward(x).flatten(1);
    x = torch::relu(hidden(x));
    return output(dropout(x));
  }

  nn::Sequential features;
  nn::Linear hidden;
  nn::Dropout dropout;
  nn::Linear output;
};
TORCH_MODULE(Reader);

}  // namespace examples
