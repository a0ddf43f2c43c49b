#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <string>

namespace loupe::test {

/// Ports of the models in pairs.py, each with what a port may get wrong: `fault` names it, "" is a right one.
struct Net : torch::nn::Module {
  virtual at::Tensor forward(at::Tensor x) = 0;
};

/// Trains one as pairs.py does, and keeps its fingerprint in `folder`.
/// @param model "mlp", "cnn", "residual", "lstm", "transformer" or "tied"
/// @param optimizer "sgd", "adam", "adamw" or "rmsprop"
void record_port(const std::string& model, const std::string& optimizer, const std::string& fault,
                 const std::filesystem::path& folder);

}  // namespace loupe::test
