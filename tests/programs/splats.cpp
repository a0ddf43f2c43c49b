// Fits a picture by Gaussians that belong to no module, as splatting programs do, and doubles some of them every 50
// steps: longer tensors replace those in the optimizer and take over their state. The program does not use Loupe.

#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using at::Tensor;
using torch::optim::Adam;
using torch::optim::AdamOptions;
using torch::optim::AdamParamState;
using torch::optim::OptimizerParamGroup;

namespace {

constexpr int64_t side = 12, begin_count = 40, grown_by = 5;
constexpr int steps = 640, grow_every = 50;

struct Splats {
  Tensor means = torch::rand({begin_count, 2}).requires_grad_();
  Tensor widths = torch::full({begin_count, 2}, -2.).requires_grad_();
  Tensor colours = torch::rand({begin_count, 3}).requires_grad_();
  Tensor opacities = torch::zeros({begin_count}).requires_grad_();

  std::vector<Tensor*> all() { return {&means, &widths, &colours, &opacities}; }
  Tensor drawn(const Tensor& points) const {
    const Tensor distances = (points.unsqueeze(1) - means.unsqueeze(0)) / widths.exp().unsqueeze(0);
    const Tensor weights = torch::sigmoid(opacities) * torch::exp(-distances.square().sum(2));
    return weights.matmul(colours);
  }
};

std::unique_ptr<Adam> optimizer_of(const std::vector<Tensor>& tensors) {
  std::vector<OptimizerParamGroup> groups;
  for (const Tensor& each : tensors) groups.emplace_back(std::vector<Tensor>{each});
  auto optimizer = std::make_unique<Adam>(std::move(groups), AdamOptions(0.01));
  for (auto& group : optimizer->param_groups()) static_cast<AdamOptions&>(group.options()).lr(0.01);
  return optimizer;
}

Tensor grown(const Tensor& rows) {
  return torch::cat({rows, rows.slice(0, 0, grown_by)}, 0);
}

/// The key of a tensor in an optimizer's state. Older versions of LibTorch use a string.
template <class States>
auto key_of(const States&, const Tensor& tensor) {
  if constexpr (std::is_same_v<typename States::key_type, std::string>) {
    std::ostringstream key;
    key << tensor.unsafeGetTensorImpl();
    return key.str();
  } else {
    return static_cast<void*>(tensor.unsafeGetTensorImpl());
  }
}

void replace(Adam& optimizer, Tensor& held, const Tensor& by) {
  auto& states = optimizer.state();
  std::unique_ptr<AdamParamState> moved;
  for (auto each = states.begin(); each != states.end(); ++each) {
    auto& state = static_cast<AdamParamState&>(*each->second);
    if (!state.exp_avg().defined() || state.exp_avg().sizes() != held.sizes() || each->first != key_of(states, held))
      continue;
    moved = std::make_unique<AdamParamState>();
    moved->step(state.step());
    moved->exp_avg(grown(state.exp_avg()));
    moved->exp_avg_sq(grown(state.exp_avg_sq()));
    states.erase(each);
    break;
  }
  held = by;
  if (moved != nullptr) states[key_of(states, by)] = std::move(moved);
}

}  // namespace

/// The argument is "group" (one optimizer with a group per tensor), "each" (an optimizer per tensor), or "again" (the
/// program creates the optimizer again after each replacement).
int main(int, char** arguments) {
  const std::string how = arguments[1];
  torch::manual_seed(1);
  const Tensor axis = torch::linspace(0, 1, side);
  const Tensor points = torch::stack({axis.repeat_interleave(side), axis.repeat({side})}, 1);
  const Tensor picture = torch::stack({points.select(1, 0), points.select(1, 1), points.prod(1)}, 1);

  Splats splats;
  std::vector<std::unique_ptr<Adam>> optimizers;
  const auto make_optimizers = [&] {
    optimizers.clear();
    std::vector<Tensor> tensors;
    for (Tensor* each : splats.all()) tensors.push_back(*each);
    if (how != "each") return optimizers.push_back(optimizer_of(tensors));
    for (const Tensor& each : tensors) optimizers.push_back(optimizer_of({each}));
  };
  make_optimizers();
  const auto grow = [&] {
    const torch::NoGradGuard no_graph;
    std::size_t number = 0;
    for (Tensor* each : splats.all()) {
      const Tensor by = grown(*each).requires_grad_();
      if (how != "again") {
        Adam& optimizer = *optimizers[how == "each" ? number : 0];
        replace(optimizer, optimizer.param_groups()[how == "each" ? 0 : number].params()[0], by);
      }
      *each = by;
      ++number;
    }
    if (how == "again") make_optimizers();
  };

  for (int step = 1; step <= steps; ++step) {
    const Tensor loss = torch::mse_loss(splats.drawn(points), picture);
    loss.backward();
    for (const auto& each : optimizers) {
      each->step();
      each->zero_grad();
    }
    if (step % grow_every == 0) grow();
    if (step == steps)
      std::printf("loss %a of %ld splats\n", loss.item<double>(), static_cast<long>(splats.means.size(0)));
  }
}
