#include "zoo/models.h"

#include <cmath>

namespace zoo {

MlpImpl::MlpImpl(int64_t in, int64_t hidden, int64_t out, Activation activation)
    : fc1(register_module("fc1", nn::Linear(in, hidden))),
      fc2(register_module("fc2", nn::Linear(hidden, hidden))),
      fc3(register_module("fc3", nn::Linear(hidden, out))),
      activation(activation) {}

torch::Tensor MlpImpl::forward(torch::Tensor x) {
  x = activation(fc1(x));
  x = activation(fc2(x));
  return fc3(x);
}

DropMlpImpl::DropMlpImpl(int64_t in, int64_t hidden, int64_t out)
    : fc1(register_module("fc1", nn::Linear(in, hidden))), fc2(register_module("fc2", nn::Linear(hidden, out))) {}

torch::Tensor DropMlpImpl::forward(torch::Tensor x) {
  x = torch::relu(fc1(x));
  x = torch::dropout(x, 0.3, always_drops || is_training());
  return fc2(x);
}

NormMlpImpl::NormMlpImpl(int64_t in, int64_t hidden, int64_t out)
    : fc1(register_module("fc1", nn::Linear(in, hidden))),
      fc2(register_module("fc2", nn::Linear(hidden, out))),
      bn1(register_module("bn1", nn::BatchNorm1d(hidden))),
      dropout(register_module("dropout", nn::Dropout(0.2))) {}

torch::Tensor NormMlpImpl::forward(torch::Tensor x) {
  return fc2(dropout(torch::relu(bn1(fc1(x)))));
}

CnnImpl::CnnImpl(int64_t classes)
    : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)))),
      conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)))),
      bn1(register_module("bn1", nn::BatchNorm2d(8))),
      bn2(register_module("bn2", nn::BatchNorm2d(16))),
      fc(register_module("fc", nn::Linear(16 * 2 * 2, classes))) {}

torch::Tensor CnnImpl::forward(torch::Tensor x) {
  x = torch::max_pool2d(torch::relu(bn1(conv1(x))), 2);
  x = torch::max_pool2d(torch::relu(bn2(conv2(x))), 2);
  return fc(x.flatten(1));
}

nn::Sequential plain_cnn() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::ReLU(),
                        nn::MaxPool2d(nn::MaxPool2dOptions(2)), nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)),
                        nn::ReLU(), nn::Flatten(), nn::Linear(16 * 4 * 4, 4));
}

TransferImpl::TransferImpl()
    : backbone(register_module("backbone",
                               nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::BatchNorm2d(16),
                                              nn::ReLU(), nn::MaxPool2d(nn::MaxPool2dOptions(2)), nn::Flatten()))),
      head(register_module("head", nn::Linear(16 * 4 * 4, 4))) {}

torch::Tensor TransferImpl::forward(torch::Tensor x) {
  return head(backbone->forward(x));
}

LstmClassifierImpl::LstmClassifierImpl(int64_t features, int64_t hidden, int64_t classes)
    : lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(features, hidden).batch_first(true)))),
      head(register_module("head", nn::Linear(hidden, classes))) {}

torch::Tensor LstmClassifierImpl::forward(torch::Tensor x) {
  auto state = std::get<0>(lstm(x)).select(1, -1);
  if (cuts_state) state = state.detach();
  const auto scores = head(state);
  return gives_shares ? torch::softmax(scores, 1) : scores;
}

ReluRnnImpl::ReluRnnImpl()
    : rnn(register_module("rnn", nn::RNN(nn::RNNOptions(4, 24).nonlinearity(torch::kReLU).batch_first(true)))),
      head(register_module("head", nn::Linear(24, 2))) {}

torch::Tensor ReluRnnImpl::forward(torch::Tensor x) {
  return head(std::get<0>(rnn(x)).select(1, -1));
}

AttentiveLstmImpl::AttentiveLstmImpl()
    : lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(4, 24).batch_first(true)))),
      score(register_module("score", nn::Linear(24, 1))),
      head(register_module("head", nn::Linear(24, 2))) {}

torch::Tensor AttentiveLstmImpl::forward(torch::Tensor x) {
  const auto states = std::get<0>(lstm(x));
  const auto shares = torch::softmax(score(states), softmax_dimension);
  return head((shares * states).sum(1));
}

TransformerImpl::TransformerImpl(int64_t vocabulary, int64_t width, int64_t classes, double dropout)
    : embedding(register_module("embedding", nn::Embedding(vocabulary, width))),
      encoder(register_module(
          "encoder",
          nn::TransformerEncoder(nn::TransformerEncoderOptions(
              nn::TransformerEncoderLayerOptions(width, 2).dim_feedforward(2 * width).dropout(dropout), 2)))),
      head(register_module("head", nn::Linear(width, classes))) {}

torch::Tensor TransformerImpl::forward(torch::Tensor words) {
  auto is_padding = words.eq(0);
  if (keeps_first_word) is_padding.select(1, 0).fill_(false);
  const auto states = encoder(embedding(words).transpose(0, 1), torch::Tensor(), is_padding).transpose(0, 1);
  const auto counts = is_padding.logical_not().to(states.scalar_type()).unsqueeze(2);
  return head((states * counts).sum(1) / counts.sum(1));
}

BagOfWordsImpl::BagOfWordsImpl(int64_t vocabulary, int64_t width, int64_t classes)
    : embedding(register_module("embedding", nn::Embedding(vocabulary, width))),
      fc1(register_module("fc1", nn::Linear(width, 32))),
      fc2(register_module("fc2", nn::Linear(32, classes))) {}

torch::Tensor BagOfWordsImpl::forward(torch::Tensor words) {
  return fc2(torch::relu(fc1(embedding(words).mean(1))));
}

TiedLanguageModelImpl::TiedLanguageModelImpl(int64_t vocabulary, int64_t width)
    : embedding(register_module("embedding", nn::Embedding(vocabulary, width))),
      gru(register_module("gru", nn::GRU(nn::GRUOptions(width, width).batch_first(true)))),
      bias(register_parameter("bias", torch::zeros({vocabulary}))) {
  nn::init::normal_(embedding->weight, 0, 0.2);
}

torch::Tensor TiedLanguageModelImpl::forward(torch::Tensor words) {
  return nn::functional::linear(std::get<0>(gru(embedding(words))), embedding->weight, bias);
}

UnitLengthMlpImpl::UnitLengthMlpImpl(int64_t in, int64_t hidden, int64_t out)
    : fc1(register_module("fc1", nn::Linear(nn::LinearOptions(in, hidden).bias(false)))),
      fc2(register_module("fc2", nn::Linear(hidden, out))) {}

torch::Tensor UnitLengthMlpImpl::forward(torch::Tensor x) {
  x = torch::relu(fc1(x));
  const auto length = x.square().sum(1, /*keepdim=*/true).add(smallest_length).sqrt();
  return fc2(4 * x / length);
}

TwoHeadsImpl::TwoHeadsImpl(int64_t in, int64_t hidden, int64_t out)
    : trunk(register_module("trunk", nn::Linear(in, hidden))),
      head(register_module("head", nn::Linear(hidden, out))),
      auxiliary(register_module("auxiliary", nn::Linear(hidden, out))) {}

torch::Tensor TwoHeadsImpl::forward(torch::Tensor x) {
  x = torch::gelu(trunk(x));
  return torch::cat({head(x), auxiliary(x)}, 1);
}

BranchesImpl::BranchesImpl(int64_t in, int64_t hidden, int64_t actions)
    : critic(register_module("critic", nn::Sequential(nn::Linear(in, hidden), nn::Tanh(), nn::Linear(hidden, hidden),
                                                      nn::Tanh(), nn::Linear(hidden, 1)))),
      actor(register_module("actor", nn::Sequential(nn::Linear(in, hidden), nn::Tanh(), nn::Linear(hidden, hidden),
                                                    nn::Tanh(), nn::Linear(hidden, actions)))) {}

OwnWeightsImpl::OwnWeightsImpl(int64_t in, int64_t hidden, int64_t out)
    : first(register_parameter("first", 0.3 * torch::randn({in, hidden}))),
      second(register_parameter("second", 0.3 * torch::randn({hidden, out}))) {}
torch::Tensor OwnWeightsImpl::forward(torch::Tensor x) {
  return torch::tanh(x.matmul(first)).matmul(second);
}

RepeatedCodeImpl::RepeatedCodeImpl(int64_t in, int64_t hidden, int64_t out)
    : lstm(register_module("lstm", nn::LSTM(in, hidden))), head(register_module("head", nn::Linear(hidden, out))) {}
torch::Tensor RepeatedCodeImpl::forward(torch::Tensor x) {
  constexpr int64_t times = 6;
  return head(std::get<0>(lstm(x.unsqueeze(0).repeat({times, 1, 1})))[times - 1]);
}

BlocksImpl::BlocksImpl(int64_t in, int64_t hidden, int64_t out, bool registered)
    : first(register_module("first", nn::Linear(in, hidden))), last(register_module("last", nn::Linear(hidden, out))) {
  for (int i = 0; i < 2; ++i) {
    blocks.emplace_back(hidden, hidden);
    if (registered) register_module("block" + std::to_string(i), blocks.back());
  }
}

torch::Tensor BlocksImpl::forward(torch::Tensor x) {
  x = torch::relu(first(x));
  for (nn::Linear& block : blocks) x = x + torch::relu(block(x));
  return last(x);
}

PartCnnImpl::PartCnnImpl(bool registered)
    : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)))),
      conv2(nn::Conv2dOptions(8, 16, 3).padding(1)),
      fc(register_module("fc", nn::Linear(16 * 4 * 4, 4))) {
  if (registered) register_module("conv2", conv2);
}

torch::Tensor PartCnnImpl::forward(torch::Tensor x) {
  x = torch::max_pool2d(torch::relu(conv1(x)), 2);
  return fc(torch::relu(conv2(x)).flatten(1));
}

nn::Sequential deep_mlp(int64_t in, int64_t width, int64_t out, int depth, const nn::AnyModule& activation) {
  nn::Sequential layers;
  for (int i = 0; i + 1 < depth; ++i) {
    layers->push_back(nn::Linear(i == 0 ? in : width, width));
    layers->push_back(activation.clone());
  }
  layers->push_back(nn::Linear(width, out));
  return layers;
}

nn::Sequential generator(int64_t noise, int64_t out) {
  return nn::Sequential(nn::Linear(noise, 32), nn::BatchNorm1d(32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU(),
                        nn::Linear(32, out));
}

nn::Sequential discriminator(int64_t in) {
  const auto leaky = nn::LeakyReLUOptions().negative_slope(0.2);
  return nn::Sequential(nn::Linear(in, 32), nn::LeakyReLU(leaky), nn::Linear(32, 32), nn::LeakyReLU(leaky),
                        nn::Linear(32, 1));
}

void scale_weights(nn::Module& model, double factor) {
  const torch::NoGradGuard no_grad;
  for (auto& module : model.modules()) {
    if (auto* linear = module->as<nn::Linear>()) linear->weight.mul_(factor);
  }
}

void freeze(nn::Module& model) {
  for (torch::Tensor& parameter : model.parameters()) parameter.set_requires_grad(false);
}

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

QuantizerImpl::QuantizerImpl(int64_t in, int64_t rows, int64_t width)
    : encoder(register_module("encoder", nn::Sequential(nn::Linear(in, 48), nn::ReLU(), nn::Linear(48, width)))),
      decoder(register_module("decoder", nn::Sequential(nn::Linear(width, 48), nn::ReLU(), nn::Linear(48, in)))),
      codes(register_module("codes", nn::Embedding(rows, width))) {}

std::pair<torch::Tensor, torch::Tensor> QuantizerImpl::forward(torch::Tensor x) {
  const auto made = encoder->forward(x);
  const auto code = codes(torch::cdist(made.detach(), codes->weight.detach()).argmin(1));
  const auto distance = torch::mse_loss(code, made.detach()) + 0.25 * torch::mse_loss(made, code.detach());
  return {decoder->forward(made + (code - made).detach()), distance};
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
  for (int i = 0; i < depth; ++i)
    couplings.push_back(register_module("coupling" + std::to_string(i), Coupling(hidden, i % 2 == 1)));
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
