#include "zoo/program_models.h"

#include <cmath>

namespace zoo {

ActorCriticImpl::ActorCriticImpl(int64_t in, int64_t hidden, int64_t actions)
    : trunk(register_module("trunk", nn::Linear(in, hidden))),
      policy(register_module("policy", nn::Linear(hidden, actions))),
      value(register_module("value", nn::Linear(hidden, 1))) {}

std::pair<torch::Tensor, torch::Tensor> ActorCriticImpl::forward(torch::Tensor x) {
  x = torch::tanh(trunk(x));
  return {policy(x), value(x).squeeze(-1)};
}

GaussianActorImpl::GaussianActorImpl(int64_t in, int64_t hidden, int64_t out)
    : fc1(register_module("fc1", nn::Linear(in, hidden))),
      fc2(register_module("fc2", nn::Linear(hidden, hidden))),
      mean(register_module("mean", nn::Linear(hidden, out))),
      log_spread(register_module("log_spread", nn::Linear(hidden, out))) {}

std::pair<torch::Tensor, torch::Tensor> GaussianActorImpl::forward(torch::Tensor x) {
  x = torch::relu(fc2(torch::relu(fc1(x))));
  return {mean(x), torch::clamp(log_spread(x), -5, 2)};
}

MultiTaskImpl::MultiTaskImpl(int64_t in, int64_t hidden, int64_t classes)
    : fc1(register_module("fc1", nn::Linear(in, hidden))),
      fc2(register_module("fc2", nn::Linear(hidden, hidden))),
      classes(register_module("classes", nn::Linear(hidden, classes))),
      amount(register_module("amount", nn::Linear(hidden, 1))) {}

std::pair<torch::Tensor, torch::Tensor> MultiTaskImpl::forward(torch::Tensor x) {
  x = torch::relu(fc2(torch::relu(fc1(x))));
  return {classes(x), amount(x)};
}

VaeImpl::VaeImpl(int64_t in, int64_t hidden, int64_t code)
    : encoder(register_module("encoder", nn::Linear(in, hidden))),
      mean(register_module("mean", nn::Linear(hidden, code))),
      log_variance(register_module("log_variance", nn::Linear(hidden, code))),
      decoder(register_module("decoder", nn::Linear(code, hidden))),
      out(register_module("out", nn::Linear(hidden, in))) {}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> VaeImpl::forward(torch::Tensor x) {
  x = torch::relu(encoder(x));
  const auto centre = mean(x), spread = log_variance(x);
  const auto code = is_training() ? centre + torch::exp(0.5 * spread) * torch::randn_like(spread) : centre;
  return {out(torch::relu(decoder(code))), centre, spread};
}

DenoiserImpl::DenoiserImpl(int64_t hidden)
    : net(register_module("net", Mlp(6, hidden, 2, [](const torch::Tensor& x) { return torch::silu(x); }))) {}

torch::Tensor DenoiserImpl::forward(torch::Tensor points, torch::Tensor time) {
  const auto angle = time * std::acos(-1.0);
  return net(torch::cat({points, angle.sin(), angle.cos(), (2 * angle).sin(), (2 * angle).cos()}, 1));
}

CouplingImpl::CouplingImpl(int64_t hidden, bool flipped)
    : fc1(register_module("fc1", nn::Linear(1, hidden))),
      fc2(register_module("fc2", nn::Linear(hidden, 2))),
      flipped(flipped) {}

std::pair<torch::Tensor, torch::Tensor> CouplingImpl::forward(torch::Tensor points) {
  const auto kept = points.slice(1, flipped, flipped + 1), moved = points.slice(1, !flipped, !flipped + 1);
  const auto how = fc2(torch::tanh(fc1(kept)));
  const auto stretch = 2 * torch::tanh(how.slice(1, 0, 1));
  const auto result = moved * torch::exp(stretch) + how.slice(1, 1);
  return {flipped ? torch::cat({result, kept}, 1) : torch::cat({kept, result}, 1), stretch.squeeze(1)};
}

FlowImpl::FlowImpl(int64_t hidden, int depth) {
  for (int i = 0; i < depth; ++i) {
    couplings.push_back(register_module("coupling" + std::to_string(i), Coupling(hidden, i % 2 == 1)));
  }
}

torch::Tensor FlowImpl::forward(torch::Tensor points) {
  auto stretched = torch::zeros({points.size(0)});
  for (Coupling& coupling : couplings) {
    const auto [moved, stretch] = coupling->forward(points);
    points = moved;
    stretched = stretched + stretch;
  }
  return stretched - 0.5 * points.square().sum(1) - std::log(2 * std::acos(-1.0));
}

SignalLstmImpl::SignalLstmImpl(int64_t hidden)
    : lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(1, hidden).batch_first(true)))),
      head(register_module("head", nn::Linear(hidden, 1))) {}

std::pair<torch::Tensor, LstmState> SignalLstmImpl::forward(torch::Tensor signal, LstmState state) {
  const auto [states, last] = lstm(signal, state);
  return {head(states), last};
}

LoraLinearImpl::LoraLinearImpl(const nn::Linear& pretrained, int64_t rank)
    : base(register_module("base", pretrained)),
      a(register_parameter("a", torch::randn({rank, pretrained->options.in_features()}) /
                                    std::sqrt(double(pretrained->options.in_features())))),
      b(register_parameter("b", torch::zeros({pretrained->options.out_features(), rank}))) {
  freeze(*base);
}

torch::Tensor LoraLinearImpl::forward(torch::Tensor x) {
  return base(x) + x.matmul(a.t()).matmul(b.t());
}

LoraMlpImpl::LoraMlpImpl(const Mlp& pretrained, int64_t rank)
    : fc1(register_module("fc1", LoraLinear(pretrained->fc1, rank))),
      fc2(register_module("fc2", LoraLinear(pretrained->fc2, rank))),
      fc3(register_module("fc3", LoraLinear(pretrained->fc3, rank))) {}

torch::Tensor LoraMlpImpl::forward(torch::Tensor x) {
  return fc3(torch::relu(fc2(torch::relu(fc1(x)))));
}

void copy_weights(const nn::Module& from, nn::Module& to) {
  const torch::NoGradGuard no_grad;
  const auto given = from.parameters(), taken = to.parameters();
  for (std::size_t i = 0; i < taken.size(); ++i) taken[i].copy_(given[i]);
  const auto given_buffers = from.buffers(), taken_buffers = to.buffers();
  for (std::size_t i = 0; i < taken_buffers.size(); ++i) taken_buffers[i].copy_(given_buffers[i]);
}

void blend_weights(nn::Module& average, const nn::Module& model, double share) {
  const torch::NoGradGuard no_grad;
  const auto means = average.parameters(), values = model.parameters();
  for (std::size_t i = 0; i < means.size(); ++i) means[i].lerp_(values[i], share);
  const auto mean_buffers = average.buffers(), buffers = model.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].is_floating_point()) mean_buffers[i].lerp_(buffers[i], share);
  }
}

}  // namespace zoo
