#pragma once

#include <torch/torch.h>

#include <tuple>
#include <utility>
#include <vector>

namespace zoo {

namespace nn = torch::nn;

/// A function between layers.
using Activation = torch::Tensor (*)(const torch::Tensor&);

struct MlpImpl : nn::Module {
  MlpImpl(int64_t in, int64_t hidden, int64_t out, Activation activation = torch::relu);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear fc1, fc2, fc3;
  Activation activation;
};
TORCH_MODULE(Mlp);

/// A model with functional dropout, which does not know the model's mode by itself.
struct DropMlpImpl : nn::Module {
  DropMlpImpl(int64_t in, int64_t hidden, int64_t out);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear fc1, fc2;
  bool always_drops = false;
};
TORCH_MODULE(DropMlp);

/// A model with batch norm between linear layers, and a dropout module.
struct NormMlpImpl : nn::Module {
  NormMlpImpl(int64_t in, int64_t hidden, int64_t out);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear fc1, fc2;
  nn::BatchNorm1d bn1;
  nn::Dropout dropout;
};
TORCH_MODULE(NormMlp);

/// A convolutional net for images of 8 by 8.
struct CnnImpl : nn::Module {
  explicit CnnImpl(int64_t classes = 4);
  torch::Tensor forward(torch::Tensor x);
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  nn::Linear fc;
};
TORCH_MODULE(Cnn);

/// Convolutions without batch norm in an nn::Sequential: 0 Conv2d, 1 ReLU, 2 MaxPool2d, 3 Conv2d, 4 ReLU, 5 Flatten,
/// 6 Linear.
nn::Sequential plain_cnn();

/// Pretrained features and a new head.
struct TransferImpl : nn::Module {
  TransferImpl();
  torch::Tensor forward(torch::Tensor x);
  nn::Sequential backbone;
  nn::Linear head;
};
TORCH_MODULE(Transfer);

struct LstmClassifierImpl : nn::Module {
  explicit LstmClassifierImpl(int64_t features = 4, int64_t hidden = 24, int64_t classes = 2);
  torch::Tensor forward(torch::Tensor x);
  nn::LSTM lstm;
  nn::Linear head;
  bool cuts_state = false;    ///< the output does not depend on the LSTM in the graph
  bool gives_shares = false;  ///< returns softmax probabilities instead of scores
};
TORCH_MODULE(LstmClassifier);

/// A plain recurrent net with a ReLU.
struct ReluRnnImpl : nn::Module {
  ReluRnnImpl();
  torch::Tensor forward(torch::Tensor x);
  nn::RNN rnn;
  nn::Linear head;
};
TORCH_MODULE(ReluRnn);

/// Averages the states of all times, each weighted by its score.
struct AttentiveLstmImpl : nn::Module {
  AttentiveLstmImpl();
  torch::Tensor forward(torch::Tensor x);
  nn::LSTM lstm;
  nn::Linear score, head;
  int64_t softmax_dimension = 1;  ///< 1 is time
};
TORCH_MODULE(AttentiveLstm);

/// An encoder over words; number 0 is padding and is masked.
struct TransformerImpl : nn::Module {
  explicit TransformerImpl(int64_t vocabulary = 400, int64_t width = 16, int64_t classes = 4, double dropout = 0.1);
  torch::Tensor forward(torch::Tensor words);
  nn::Embedding embedding;
  nn::TransformerEncoder encoder;
  nn::Linear head;
  bool keeps_first_word = true;  ///< never masks a whole text
};
TORCH_MODULE(Transformer);

struct BagOfWordsImpl : nn::Module {
  explicit BagOfWordsImpl(int64_t vocabulary = 400, int64_t width = 16, int64_t classes = 4);
  torch::Tensor forward(torch::Tensor words);
  nn::Embedding embedding;
  nn::Linear fc1, fc2;
};
TORCH_MODULE(BagOfWords);

/// Predicts the next word; the decoder shares the embedding's weight.
struct TiedLanguageModelImpl : nn::Module {
  explicit TiedLanguageModelImpl(int64_t vocabulary, int64_t width = 24);
  torch::Tensor forward(torch::Tensor words);
  nn::Embedding embedding;
  nn::GRU gru;
  torch::Tensor bias;
};
TORCH_MODULE(TiedLanguageModel);

/// Scales features to length 1 between two layers.
struct UnitLengthMlpImpl : nn::Module {
  UnitLengthMlpImpl(int64_t in, int64_t hidden, int64_t out);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear fc1, fc2;
  double smallest_length = 1e-6;
};
TORCH_MODULE(UnitLengthMlp);

/// A trunk with two outputs, each of shape (N, out).
struct TwoHeadsImpl : nn::Module {
  TwoHeadsImpl(int64_t in, int64_t hidden, int64_t out);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear trunk, head, auxiliary;
};
TORCH_MODULE(TwoHeads);

/// A policy and a value side by side, which share only the input.
struct BranchesImpl : nn::Module {
  BranchesImpl(int64_t in, int64_t hidden, int64_t actions);
  nn::Sequential critic, actor;
};
TORCH_MODULE(Branches);

/// A model that only has parameters and functions, and no layers.
struct OwnWeightsImpl : nn::Module {
  OwnWeightsImpl(int64_t in, int64_t hidden, int64_t out);
  torch::Tensor forward(torch::Tensor x);
  torch::Tensor first, second;
};
TORCH_MODULE(OwnWeights);

/// One code per sample, which the LSTM receives at each time, as decoders of sequences do.
struct RepeatedCodeImpl : nn::Module {
  RepeatedCodeImpl(int64_t in, int64_t hidden, int64_t out);
  torch::Tensor forward(torch::Tensor x);
  nn::LSTM lstm;
  nn::Linear head;
};
TORCH_MODULE(RepeatedCode);

/// Blocks in a std::vector; they are registered, or were forgotten.
struct BlocksImpl : nn::Module {
  BlocksImpl(int64_t in, int64_t hidden, int64_t out, bool registered);
  torch::Tensor forward(torch::Tensor x);
  nn::Linear first;
  std::vector<nn::Linear> blocks;
  nn::Linear last;
};
TORCH_MODULE(Blocks);

/// A CNN whose second convolution is registered, or was forgotten.
struct PartCnnImpl : nn::Module {
  explicit PartCnnImpl(bool registered);
  torch::Tensor forward(torch::Tensor x);
  nn::Conv2d conv1, conv2;
  nn::Linear fc;
};
TORCH_MODULE(PartCnn);

/// Linear layers with an activation between each two: 0 Linear, 1 activation, 2 Linear, …
nn::Sequential deep_mlp(int64_t in, int64_t width, int64_t out, int depth, const nn::AnyModule& activation);

nn::Sequential generator(int64_t noise, int64_t out);
nn::Sequential discriminator(int64_t in);

/// Multiplies the weights of all linear layers, and keeps the biases.
void scale_weights(nn::Module& model, double factor);
/// Turns gradients off for all parameters of the model.
void freeze(nn::Module& model);

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
  /// The decoded input, and the mean and the logarithm of the variance of the code.
  std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> forward(torch::Tensor x);
  nn::Linear encoder, mean, log_variance, decoder, out;
};
TORCH_MODULE(Vae);

/// Returns for each sample the code of the table that is nearest to its encoded value.
struct QuantizerImpl : nn::Module {
  QuantizerImpl(int64_t in, int64_t rows, int64_t width);
  /// The decoded input, and the distance between codes and encoder outputs.
  std::pair<torch::Tensor, torch::Tensor> forward(torch::Tensor x);
  nn::Sequential encoder, decoder;
  nn::Embedding codes;
};
TORCH_MODULE(Quantizer);

/// Predicts the noise in points of the plane; `time` in [0, 1] is the share of noise.
struct DenoiserImpl : nn::Module {
  explicit DenoiserImpl(int64_t hidden);
  torch::Tensor forward(torch::Tensor points, torch::Tensor time);
  Mlp net;
};
TORCH_MODULE(Denoiser);

/// Scales and moves one coordinate by functions of the other.
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

/// Predicts each next value of a signal, and returns its state so that the signal can continue.
struct SignalLstmImpl : nn::Module {
  explicit SignalLstmImpl(int64_t hidden);
  std::pair<torch::Tensor, LstmState> forward(torch::Tensor signal, LstmState state);
  nn::LSTM lstm;
  nn::Linear head;
};
TORCH_MODULE(SignalLstm);

/// A frozen layer, and a low-rank correction that starts at 0.
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

// These two functions need two models of one shape; statistics of batch norm count as weights.

void copy_weights(const nn::Module& from, nn::Module& to);
/// Moves the weights of `average` by this share of the way to those of `model`.
void blend_weights(nn::Module& average, const nn::Module& model, double share);

}  // namespace zoo
