#pragma once

#include <string>

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

/// The only use of Loupe in the trainer: an inspector, or nothing in gpu_trainer_plain.
namespace watching {

void begin(const std::string& monitor);
void attach(torch::nn::Module& model, torch::optim::Optimizer* optimizer, const std::string& name);
void push_loss(const at::Tensor& loss);
void tick();
/// Returns the rules of warnings and errors as JSON strings.
std::string end();

}  // namespace watching
