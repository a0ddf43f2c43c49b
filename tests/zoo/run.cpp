#include "zoo/run.h"

#include <torch/torch.h>

namespace zoo {
namespace {

constexpr const char* monitor = R"(
run: {name: zoo}
attach: {summary: false}
lenses: [health]
visualizers: []
)";

}  // namespace

Run::Run(std::uint64_t seed, bool planted) : planted(planted), inspector(loupe::Inspector::from_text(monitor, "zoo")) {
  torch::manual_seed(seed);
}

void Run::train_loss(const at::Tensor& loss) {
  train_losses_.push_back(loss.item<double>());
  inspector.push_loss(loss, /*train=*/true);
}

void Run::validation_loss(const at::Tensor& loss) {
  inspector.push_loss(loss, /*train=*/false);
}

void use_one_thread() {
  torch::set_num_threads(1);
}

}  // namespace zoo
