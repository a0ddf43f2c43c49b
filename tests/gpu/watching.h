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

/// All that the trainer knows of Loupe: one inspector, or in gpu_trainer_plain none.
namespace watching {

void begin(const std::string& monitor);
void attach(torch::nn::Module& model, torch::optim::Optimizer* optimizer, const std::string& name);
void push_loss(const at::Tensor& loss);
void tick();
/// The rules of warnings and errors that were found, as JSON's strings.
std::string end();

}  // namespace watching
