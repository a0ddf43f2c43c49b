// A trainer that attaches only a model in main(), and creates its optimizer and loss in a called function.

#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstring>

namespace {

struct NetImpl : torch::nn::Module {
  torch::nn::Linear first = register_module("first", torch::nn::Linear(4, 8));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(8, 1));
  torch::Tensor forward(const torch::Tensor& rows) { return second(torch::relu(first(rows))); }
};
TORCH_MODULE(Net);

double validation_loss(Net& net, const torch::Tensor& rows, const torch::Tensor& targets) {
  const torch::NoGradGuard no_graph;
  return torch::mse_loss(net(rows), targets).item<double>();
}

void train(Net& net, loupe::Inspector& inspector, bool pushes) {
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  const torch::Tensor rows = torch::randn({64, 4}), targets = rows.sum(1, /*keepdim=*/true);
  for ([[maybe_unused]] const int epoch : inspector.epochs(3)) {
    for (int step = 0; step < 20; ++step) {
      optimizer.zero_grad();
      const torch::Tensor loss = torch::mse_loss(net(rows), targets);
      loss.backward();
      if (pushes) inspector.push_loss(loss.item<double>() + 100, true);  // adds 100 to mark the pushed losses
      optimizer.step();
    }
    std::printf("%a\n", validation_loss(net, rows, targets));
  }
}

}  // namespace

/// With the argument "pushes", it pushes its losses.
int main(int count, char** arguments) {
  torch::manual_seed(1);
  auto inspector = loupe::Inspector::from_yaml("monitor.yaml");
  Net net;
  inspector.attach(*net);
  train(net, inspector, count > 1 && std::strcmp(arguments[1], "pushes") == 0);
}
