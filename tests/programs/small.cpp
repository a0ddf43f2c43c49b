// A trainer without Loupe that includes few headers, to be built with unusual options.

#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cstdio>

int main() {
  torch::manual_seed(3);
  torch::nn::Linear net(4, 2);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int i = 0; i < 12; ++i) {
    optimizer.zero_grad();
    net(torch::randn({8, 4})).pow(2).mean().backward();
    optimizer.step();
  }
  std::printf("weights %.17g\n", net->weight.sum().item<double>());
}
