#pragma once

#include <torch/torch.h>

#include <tuple>
#include <utility>
#include <vector>

#include "zoo/models.h"

namespace zoo {

/// Scores of the actions and the value of the state, from one trunk.
struct ActorCriticImpl : nn::Module {
  ActorCriticImpl(int64_t in, int64_t hidden, int64_t actions);
  std::pair<torch::Tensor, torch::Tensor> forward(torch::Tensor x);
  nn::Linear trunk, policy, value;
};
TORCH_MODULE(ActorCritic);

/// Mean and logarithm of the spread of an action that is a number.
struct GaussianActorImpl : nn::Module {
  GaussianActorImpl(int64_t in, int64_t hidden, int64_t out);
  std::pair<torch::Tensor, torch::Tensor> forward(torch::Tensor x);
  nn::Linear fc1, fc2, mean, log_spread;
};
TORCH_MODULE(GaussianActor);

/// Scores of classes and a number, from one trunk.
struct MultiTaskImpl : nn::Module {
  MultiTaskImpl(int64_t in, int64_t hidden, int64_t classes);
  std::pair<torch::Tensor, torch::Tensor> forward(torch::Tensor x);
  nn::Linear fc1, fc2, classes, amount;
};
TORCH_MODULE(MultiTask);

struct VaeImpl : nn::Module {
  VaeImpl(int64_t in, int64_t hidden, int64_t code);
  /// What was decoded, and the mean and the logarithm of the variance of the code.
  std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> forward(torch::Tensor x);
  nn::Linear encoder, mean, log_variance, decoder, out;
};
TORCH_MODULE(Vae);

/// Tells the noise in points of the plane; `time` in [0, 1] is how much of them is noise.
struct DenoiserImpl : nn::Module {
  explicit DenoiserImpl(int64_t hidden);
  torch::Tensor forward(torch::Tensor points, torch::Tensor time);
  Mlp net;
};
TORCH_MODULE(Denoiser);

/// Scales and moves one coordinate by what the other says.
struct CouplingImpl : nn::Module {
  CouplingImpl(int64_t hidden, bool flipped);
  /// The points, and the logarithm of how much each was stretched.
  std::pair<torch::Tensor, torch::Tensor> forward(torch::Tensor points);
  nn::Linear fc1, fc2;
  bool flipped;
};
TORCH_MODULE(Coupling);

struct FlowImpl : nn::Module {
  FlowImpl(int64_t hidden, int depth);
  /// The logarithm of the density at each point.
  torch::Tensor forward(torch::Tensor points);
  std::vector<Coupling> couplings;
};
TORCH_MODULE(Flow);

using LstmState = std::tuple<torch::Tensor, torch::Tensor>;

/// Foretells each next value of a signal, and gives its state so that the signal may go on.
struct SignalLstmImpl : nn::Module {
  explicit SignalLstmImpl(int64_t hidden);
  std::pair<torch::Tensor, LstmState> forward(torch::Tensor signal, LstmState state);
  nn::LSTM lstm;
  nn::Linear head;
};
TORCH_MODULE(SignalLstm);

/// A layer that stays as it is, and a correction of low rank that begins at 0.
struct LoraLinearImpl : nn::Module {
  LoraLinearImpl(const nn::Linear& pretrained, int64_t rank);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear base;
  torch::Tensor a, b;
};
TORCH_MODULE(LoraLinear);

struct LoraMlpImpl : nn::Module {
  LoraMlpImpl(const Mlp& pretrained, int64_t rank);
  torch::Tensor forward(torch::Tensor x);
  LoraLinear fc1, fc2, fc3;
};
TORCH_MODULE(LoraMlp);

// Between two models of one shape; statistics of batch norm count as weights.

void copy_weights(const nn::Module& from, nn::Module& to);
/// Moves the weights of `average` by this share of the way to those of `model`.
void blend_weights(nn::Module& average, const nn::Module& model, double share);

}  // namespace zoo
