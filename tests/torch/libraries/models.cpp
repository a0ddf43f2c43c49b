#include "libraries/model_library.h"

namespace {

struct NetImpl : torch::nn::Module {
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(3, 4));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(4));
  torch::Tensor forward(const torch::Tensor& x) { return torch::tanh(norm(torch::relu(linear(x)))); }
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void make_model(std::shared_ptr<torch::nn::Module>* model) {
  *model = std::make_shared<NetImpl>();
}

__attribute__((visibility("default"))) void run_model(torch::nn::Module* model, const at::Tensor* input,
                                                      at::Tensor* output) {
  *output = dynamic_cast<NetImpl*>(model)->forward(*input);
}
}
