#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <string>

namespace loupe::test {

/// Ports of the models in pairs.py with planted mistakes: `fault` names the mistake, and "" is a correct port.
struct Net : torch::nn::Module {
  virtual at::Tensor forward(at::Tensor x) = 0;
};

/// Trains one model as pairs.py does, and keeps its fingerprint in `folder`.
/// @param model "mlp", "cnn", "residual", "lstm", "transformer" or "tied"
/// @param optimizer "sgd", "adam", "adamw" or "rmsprop"
void record_port(const std::string& model, const std::string& optimizer, const std::string& fault,
                 const std::filesystem::path& folder);

}  // namespace loupe::test
