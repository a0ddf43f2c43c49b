// A trainer with faults, to be built with debug information. Prints the lines that findings have to name.

#include <torch/torch.h>

#include <cstdio>

namespace nn = torch::nn;

int layer_line = 0, unregistered_line = 0, loss_line = 0, step_line = 0;

struct Net : nn::Module {
  Net() { first = register_module("first", nn::Linear(8, 16)); }
  torch::Tensor forward(const torch::Tensor& x) {
    layer_line = __LINE__ + 1;
    const auto hidden = first->forward(x);
    unregistered_line = __LINE__ + 1;
    return second->forward(torch::relu(hidden));
  }
  nn::Linear first{nullptr}, second{16, 3};
};

int main() {
  torch::manual_seed(3);
  auto net = std::make_shared<Net>();
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  for (int i = 0; i < 400; ++i) {
    const auto scores = torch::sigmoid(net->forward(torch::zeros({32, 8})));
    loss_line = __LINE__ + 1;
    auto loss = nn::functional::cross_entropy(scores, torch::randint(3, {32}));
    loss.backward();
    step_line = __LINE__ + 1;
    optimizer.step();
  }
  std::printf("layer %d unregistered %d loss %d step %d\n", layer_line, unregistered_line, loss_line, step_line);
}
