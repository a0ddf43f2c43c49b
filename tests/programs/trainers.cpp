// Trainers of many shapes without Loupe. At the end, each prints a checksum of its weights, which any bit changes.

#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <torch/script.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace nn = torch::nn;
using at::Tensor;
using Tensors = std::vector<Tensor>;

namespace {

struct NetImpl : nn::Module {
  nn::Linear first{nullptr}, second{nullptr};
  explicit NetImpl(int64_t width = 8) {
    first = register_module("first", nn::Linear(4, width));
    second = register_module("second", nn::Linear(width, 2));
  }
  Tensor forward(const Tensor& x) { return second(torch::relu(first(x))); }
};
TORCH_MODULE(Net);

struct ConvNetImpl : nn::Module {
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear out{nullptr};
  ConvNetImpl() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 3, 3)));
    norm = register_module("norm", nn::BatchNorm2d(3));
    out = register_module("out", nn::Linear(3 * 16, 2));
  }
  Tensor forward(const Tensor& x) { return out(torch::relu(norm(conv(x))).flatten(1)); }
};
TORCH_MODULE(ConvNet);

struct TunedImpl : nn::Module {
  ConvNet part;
  nn::Linear head{nullptr};
  explicit TunedImpl(const ConvNet& trained) : part(register_module("part", trained)) {
    head = register_module("head", nn::Linear(2, 2));
  }
  Tensor forward(const Tensor& x) { return head(part(x)); }
};
TORCH_MODULE(Tuned);

struct GeneratorImpl : NetImpl {};
struct CriticImpl : NetImpl {};

/// A class with modules that is no module itself.
struct Pair {
  nn::Linear encoder{4, 3}, decoder{3, 4};
  Tensor forward(const Tensor& x) { return decoder(torch::tanh(encoder(x))); }
};

void print_sum(const Tensors& parameters) {
  std::uint64_t sum = 1469598103934665603u;
  for (const Tensor& parameter : parameters) {
    const Tensor values = parameter.detach().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(values.data_ptr());
    for (std::size_t i = 0; i < values.nbytes(); ++i) sum = (sum ^ bytes[i]) * 1099511628211u;
  }
  std::printf("weights %016llx\n", static_cast<unsigned long long>(sum));
  std::fflush(stdout);
}

Tensor inputs() {
  return torch::randn({16, 4});
}
Tensor labels() {
  return torch::randint(0, 2, {16}, torch::kLong);
}

template <class Model, class Optimizer>
void train(Model& model, Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    const Tensor loss = torch::nll_loss(torch::log_softmax(model->forward(inputs()), 1), labels());
    loss.backward();
    optimizer.step();
  }
}

void mlp(int steps) {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.5));
  train(net, optimizer, steps);
  print_sum(net->parameters());
}

/// Trains as mlp(20) does, and waits for a file before its last 5 steps.
void waits(const char* file) {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.5));
  train(net, optimizer, 15);
  for (int i = 0; i < 30'000 && ::access(file, F_OK) != 0; ++i) ::usleep(1000);
  train(net, optimizer, 5);
  print_sum(net->parameters());
}

void epochs() {
  Net net;
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(0.01));
  for (int epoch = 0; epoch < 3; ++epoch) {
    net->train();
    train(net, optimizer, 10);
    net->eval();
    const torch::NoGradGuard no_gradients;
    const Tensor loss = torch::nll_loss(torch::log_softmax(net->forward(inputs()), 1), labels());
    std::printf("epoch %d loss %.9f\n", epoch + 1, loss.item<double>());
  }
  print_sum(net->parameters());
}

/// Trains epochs of 60 steps. It steps a schedule that is meant for epochs after each batch.
void falling_rate() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.5));
  torch::optim::StepLR schedule(optimizer, 1, 0.7);
  for (int epoch = 0; epoch < 3; ++epoch) {
    net->train();
    for (int step = 0; step < 60; ++step) {
      train(net, optimizer, 1);
      schedule.step();
    }
  }
  print_sum(net->parameters());
}

/// Trains on a data set that is slow for each batch, without workers of a loader.
void slow_loader() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  for (int step = 0; step < 210; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    train(net, optimizer, 1);
  }
  print_sum(net->parameters());
}

/// Adds up losses without detaching them, and so keeps their graphs.
void keeps_graphs() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  Tensor total = torch::zeros({});
  for (int step = 0; step < 150; ++step) {
    optimizer.zero_grad();
    const Tensor loss = torch::nll_loss(torch::log_softmax(net->forward(inputs()), 1), labels());
    loss.backward();
    optimizer.step();
    total += loss;
  }
  std::printf("total %.9f\n", total.item<double>());
}

/// Trains epochs of 120 batches from a data loader.
void loader() {
  using torch::data::TensorExample;
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  auto set = torch::data::datasets::TensorDataset(torch::randn({480, 4}));
  auto batches = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(set).map(torch::data::transforms::Stack<TensorExample>()), 4);
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (const auto& batch : *batches) {
      optimizer.zero_grad();
      nn::functional::cross_entropy(net->forward(batch.data), batch.data.select(1, 0).gt(0).to(torch::kLong))
          .backward();
      optimizer.step();
    }
  }
  print_sum(net->parameters());
}

/// Trains epochs that only the order of the samples shows, as each epoch shuffles them.
void shuffled() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.05);
  const Tensor x = torch::randn({80, 4}), y = x.select(1, 0).gt(0).to(torch::kLong);
  for (int epoch = 0; epoch < 8; ++epoch) {
    for (const Tensor& rows : torch::randperm(80, torch::kLong).split(8)) {
      optimizer.zero_grad();
      nn::functional::cross_entropy(net->forward(x.index_select(0, rows)), y.index_select(0, rows)).backward();
      optimizer.step();
    }
  }
  print_sum(net->parameters());
}

/// Implements mixed precision: multiplies the loss, divides the gradients, and skips the first steps.
void scaled() {
  Net net;
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  double scale = 65536;
  int skips = 4;
  for (int epoch = 0; epoch < 3; ++epoch) {
    net->train();
    for (int i = 0; i < 20; ++i) {
      optimizer.zero_grad();
      const Tensor x = inputs();
      const Tensor loss = nn::functional::cross_entropy(net->forward(x), x.select(1, 0).gt(0).to(torch::kLong));
      (loss * scale).backward();
      for (const Tensor& each : net->parameters()) each.mutable_grad().div_(scale);
      if (skips-- <= 0) optimizer.step();
      if (i == 10) scale *= 2;
    }
  }
  print_sum(net->parameters());
}

/// Adds up the gradients of two batches, each with half its loss, and validates with the whole loss.
void accumulates() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.05);
  for (int epoch = 0; epoch < 3; ++epoch) {
    net->train();
    for (int i = 0; i < 20; ++i) {
      if (i % 2 == 0) optimizer.zero_grad();
      (nn::functional::cross_entropy(net->forward(inputs()), labels()) / 2).backward();
      if (i % 2 == 1) optimizer.step();
    }
    net->eval();
    const torch::NoGradGuard no_gradients;
    std::printf("validation %.6f\n", nn::functional::cross_entropy(net->forward(inputs()), labels()).item<double>());
  }
  print_sum(net->parameters());
}

/// Trains with a loss of two terms. LibTorch has a function for one of them.
void composed() {
  nn::Sequential net(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 2));
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  const Tensor x = torch::randn({32, 4}), y = torch::randn({32, 2});
  const auto loss_of = [&](const Tensor& output) {
    return 0.2 * torch::mse_loss(output, y) + (output - y).abs().pow(0.5).mean();
  };
  for (int epoch = 0; epoch < 4; ++epoch) {
    net->train();
    for (int i = 0; i < 10; ++i) {
      optimizer.zero_grad();
      loss_of(net->forward(x)).backward();
      optimizer.step();
    }
    net->eval();
    const torch::NoGradGuard no_gradients;
    std::printf("validation %.6f\n", loss_of(net->forward(x)).item<double>());
  }
}

/// Calls backward() in both arms of an `if`.
void two_arms() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.05);
  for (int i = 0; i < 30; ++i) {
    optimizer.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(net->forward(inputs()), labels());
    if (i % 3 == 2) {
      loss.backward();
      nn::utils::clip_grad_norm_(net->parameters(), 0.5);
    } else {
      loss.backward();
    }
    optimizer.step();
  }
  print_sum(net->parameters());
}

/// Trains one instance, while the optimizer holds another.
void twin() {
  Net idle, running;
  torch::optim::SGD optimizer(idle->parameters(), 0.05);
  train(running, optimizer, 60);
  print_sum(running->parameters());
}

/// Trains epochs in a random or a constant order. Nothing else shows the epochs.
void own_order(bool shuffles) {
  const Tensor all = torch::randn({192, 4}), classes = torch::randint(0, 2, {192}, torch::kLong);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.05);
  std::vector<int64_t> order(192);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(3);
  for (int epoch = 0; epoch < 8; ++epoch) {
    if (shuffles) std::shuffle(order.begin(), order.end(), random);
    for (int64_t i = 0; i < 192; i += 16) {
      const Tensor batch = torch::tensor(std::vector<int64_t>(order.begin() + i, order.begin() + i + 16));
      optimizer.zero_grad();
      torch::nll_loss(torch::log_softmax(net->forward(all.index_select(0, batch)), 1), classes.index_select(0, batch))
          .backward();
      optimizer.step();
    }
  }
  print_sum(net->parameters());
}

/// Draws batches at random from a few samples, as from a replay buffer.
void drawn() {
  const Tensor all = torch::randn({192, 4}), classes = torch::randint(0, 2, {192}, torch::kLong);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.05);
  for (int i = 0; i < 250; ++i) {
    const Tensor batch = torch::randint(192, {16}, torch::kLong);
    optimizer.zero_grad();
    torch::nll_loss(torch::log_softmax(net->forward(all.index_select(0, batch)), 1), classes.index_select(0, batch))
        .backward();
    optimizer.step();
  }
  print_sum(net->parameters());
}

struct FieldImpl : nn::Module {
  Tensor scale;
  FieldImpl() : scale(register_parameter("scale", torch::ones({4, 2}))) {}
  Tensor forward(const Tensor& x) const { return torch::sin(x.mm(scale)); }
};
TORCH_MODULE(Field);

/// Trains a module that has parameters but no layer.
void own_parameters() {
  Field field;
  torch::optim::SGD optimizer(field->parameters(), 0.05);
  train(field, optimizer, 30);
  print_sum(field->parameters());
}

/// Trains an encoder and a head with one optimizer.
void two_modules() {
  nn::Sequential encoder(nn::Linear(4, 8), nn::ReLU()), head(nn::Linear(8, 2));
  Tensors parameters = encoder->parameters();
  for (const Tensor& each : head->parameters()) parameters.push_back(each);
  torch::optim::SGD optimizer(parameters, 0.05);
  for (int epoch = 0; epoch < 4; ++epoch) {
    encoder->train();
    for (int i = 0; i < 20; ++i) {
      optimizer.zero_grad();
      const Tensor x = inputs();
      nn::functional::cross_entropy(head->forward(encoder->forward(x)), x.select(1, 0).gt(0).to(torch::kLong))
          .backward();
      optimizer.step();
    }
    encoder->eval();
  }
  print_sum(parameters);
}

struct TiedImpl : nn::Module {
  nn::Embedding words{nullptr};
  nn::Linear head{nullptr};
  TiedImpl() {
    words = register_module("words", nn::Embedding(32, 16));
    head = register_module("head", nn::Linear(nn::LinearOptions(16, 32).bias(false)));
    head->weight = words->weight;
  }
  Tensor forward(const Tensor& x) { return head(torch::tanh(words(x))); }
};
TORCH_MODULE(Tied);

/// Ties weights by an assignment, so that the registered parameter is no longer used.
void tied() {
  Tied net;
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  for (int i = 0; i < 150; ++i) {
    optimizer.zero_grad();
    const Tensor x = torch::randint(32, {16}, torch::kLong);
    nn::functional::cross_entropy(net->forward(x), (x + 1).remainder(32)).backward();
    optimizer.step();
  }
  print_sum(net->parameters());
}

struct TaggerImpl : nn::Module {
  nn::GRU rnn{nullptr};
  nn::Linear out{nullptr};
  TaggerImpl() {
    rnn = register_module("rnn", nn::GRU(nn::GRUOptions(4, 8).batch_first(true)));
    out = register_module("out", nn::Linear(8, 2));
  }
  Tensor forward(const Tensor& x, const Tensor& lengths) {
    namespace rnns = nn::utils::rnn;
    const auto packed = rnns::pack_padded_sequence(x, lengths, /*batch_first=*/true, /*enforce_sorted=*/false);
    return out(std::get<0>(rnns::pad_packed_sequence(std::get<0>(rnn->forward_with_packed_input(packed)), true)));
  }
};
TORCH_MODULE(Tagger);

void packed() {
  Tagger net;
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    const Tensor x = torch::randn({6, 5, 4}), lengths = torch::tensor({5, 3, 4, 2, 5, 1}, torch::kLong);
    net->forward(x, lengths).square().mean().backward();
    optimizer.step();
  }
  print_sum(net->parameters());
}

/// Steps without changing LibTorch's version counters, as fused operators on lists do.
struct OwnOptimizer : torch::optim::Optimizer {
  explicit OwnOptimizer(const Tensors& parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(parameters)}, std::make_unique<torch::optim::SGDOptions>(0.05)) {}
  Tensor step(LossClosure) override {
    const torch::NoGradGuard no_gradients;
    for (const Tensor& each : param_groups()[0].params()) each.data().add_(each.grad(), -0.05);
    return {};
  }
};

void own_optimizer() {
  Net net;
  OwnOptimizer optimizer(net->parameters());
  for (int i = 0; i < 250; ++i) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(inputs()), labels()).backward();
    optimizer.step({});
  }
  print_sum(net->parameters());
}

/// Trains weights that belong to no module.
void bare() {
  const Tensor weight = torch::randn({4, 2}).requires_grad_();
  torch::optim::SGD optimizer({weight}, 0.1);
  for (int i = 0; i < 30; ++i) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(inputs().matmul(weight), labels()).backward();
    optimizer.step();
  }
  print_sum({weight});
}

/// Uses an optimizer of a model that was destroyed.
void gone() {
  auto net = std::make_unique<Net>();
  torch::optim::SGD optimizer((*net)->parameters(), 0.1);
  net = std::make_unique<Net>();
  train(*net, optimizer, 30);
  print_sum((*net)->parameters());
}

/// Trains a part in one model and then uses it in another, frozen except for the statistics of its batch norm.
void frozen_part() {
  const ConvNet part;
  const auto train_for = [](Tuned& net, const Tensors& parameters, int epochs) {
    torch::optim::Adam optimizer(parameters, torch::optim::AdamOptions(0.01));
    for (int i = 0; i < 6 * epochs; ++i) {
      if (i % 6 == 0) net->train();
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net->forward(torch::randn({16, 1, 6, 6})), labels()).backward();
      optimizer.step();
      if (i % 6 == 5) net->eval();
    }
  };
  {
    Tuned first(part);
    train_for(first, first->parameters(), 2);
  }
  for (Tensor& parameter : part->parameters()) parameter.set_requires_grad(false);
  Tuned second(part);
  train_for(second, second->head->parameters(), 6);
  print_sum(second->parameters());
}

void conv() {
  auto net = std::make_shared<ConvNetImpl>();
  Tensors parameters;
  for (const auto& each : net->named_parameters()) parameters.push_back(each.value());
  torch::optim::RMSprop optimizer(parameters, torch::optim::RMSpropOptions(0.01));
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(torch::randn({16, 1, 6, 6})), labels()).backward();
    optimizer.step();
  }
  print_sum(parameters);
}

void gan() {
  auto generator = std::make_shared<GeneratorImpl>();
  auto critic = std::make_shared<CriticImpl>();
  torch::optim::Adam generating(generator->parameters(), 0.01), judging(critic->parameters(), 0.01);
  nn::Linear up(2, 4);
  for (int i = 0; i < 6; ++i) {
    judging.zero_grad();
    critic->forward(inputs()).mean().backward();
    (-critic->forward(up(generator->forward(inputs())).detach()).mean()).backward();
    judging.step();
    generating.zero_grad();
    critic->forward(up(generator->forward(inputs()))).mean().backward();
    generating.step();
  }
  print_sum(generator->parameters());
  print_sum(critic->parameters());
}

void sequential() {
  nn::Sequential net(nn::Linear(4, 6), nn::Tanh(), nn::Linear(6, 2));
  torch::optim::AdamW optimizer(net->parameters(), 0.01);
  train(net, optimizer, 5);
  print_sum(net->parameters());
}

void by_hand() {
  Net net;
  const Tensors parameters = {net->first->weight, net->first->bias, net->second->weight, net->second->bias};
  torch::optim::SGD optimizer(parameters, 0.1);
  train(net, optimizer, 5);
  print_sum(parameters);
}

/// A model with all parameters in one child and without an owning shared_ptr.
struct OneChild : nn::Module {
  nn::Sequential seq;
  OneChild() { register_module("seq", seq = nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2))); }
  Tensor forward(const Tensor& x) { return seq->forward(x); }
};
void train_alone(OneChild& net) {
  OneChild* model = &net;
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  train(model, optimizer, 4);
  print_sum(net.parameters());
}
void one_child(const std::string& where) {
  struct Trainer {
    OneChild net;
  };
  if (where == "stack") {
    OneChild net;
    train_alone(net);
  } else if (where == "heap") {
    auto* net = new OneChild;
    train_alone(*net);
    delete net;
  } else {
    Trainer trainer;
    train_alone(trainer.net);
  }
}

/// Trains two models of one class, whose optimizers step in the reverse order. The first has a wider layer.
void twins() {
  Net first(16), second;
  torch::optim::SGD of_first(first->parameters(), 0.1), of_second(second->parameters(), 0.1);
  for (int i = 0; i < 4; ++i) {
    train(second, of_second, 1);
    train(first, of_first, 1);
  }
  print_sum(first->parameters());
}

/// Trains five models, and destroys each before it creates the next.
void in_turn() {
  for (int model = 0; model < 5; ++model) {
    Net net;
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    train(net, optimizer, 4);
    if (model == 4) print_sum(net->parameters());
  }
}

/// Makes ten epochs of 50 steps on the first batch of a loader.
void one_batch() {
  using torch::data::TensorExample;
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  auto batches = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      torch::data::datasets::TensorDataset(torch::randn({32, 4})).map(torch::data::transforms::Stack<TensorExample>()),
      16);
  for (int step = 0; step < 500; ++step) {
    const Tensor x = batches->begin()->data;
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(x), x.select(1, 0).gt(0).to(torch::kLong)).backward();
    optimizer.step();
  }
  print_sum(net->parameters());
}

/// Calls the model once more after the last epoch, which ends with train().
void evaluates_last() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int epoch = 0; epoch < 3; ++epoch) {
    train(net, optimizer, 5);
    net->eval();
    net->train();
  }
  const torch::NoGradGuard no_gradients;
  std::printf("mean %.6f\n", net->forward(inputs()).mean().item<double>());
  print_sum(net->parameters());
}

/// Creates an optimizer, but only makes forwards.
void only_forwards() {
  Net net;
  const torch::optim::SGD optimizer(net->parameters(), 0.1);
  const torch::NoGradGuard no_gradients;
  for (int i = 0; i < 4; ++i) std::printf("mean %.6f\n", net->forward(inputs()).mean().item<double>());
  print_sum(net->parameters());
}

void groups() {
  Net net;
  torch::optim::SGD optimizer(net->first->parameters(), 0.1);
  train(net, optimizer, 3);
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(net->second->parameters()));
  train(net, optimizer, 3);
  print_sum(net->parameters());
}

void plain_class() {
  Pair pair;
  Tensors parameters = pair.encoder->parameters();
  for (const Tensor& each : pair.decoder->parameters()) parameters.push_back(each);
  torch::optim::Adagrad optimizer(parameters, 0.1);
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    const Tensor x = inputs();
    torch::mse_loss(pair.forward(x), x).backward();
    optimizer.step();
  }
  print_sum(parameters);
}

void any_module() {
  Net net;
  nn::AnyModule any(net);
  torch::optim::SGD optimizer(any.ptr()->parameters(), 0.1);
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    const Tensor x = inputs();
    torch::nll_loss(torch::log_softmax(any.forward(x), 1), labels()).backward();
    optimizer.step();
  }
  print_sum(any.ptr()->parameters());
}

void on_the_stack() {
  for (int fold = 0; fold < 2; ++fold) {
    NetImpl net;
    NetImpl* model = &net;
    torch::optim::SGD optimizer(net.parameters(), 0.1);
    train(model, optimizer, 4);
    print_sum(net.parameters());
  }
}

/// Trains a script, as if it came from a file.
void script() {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const auto linear = [&](int64_t inputs, int64_t outputs) {
    torch::jit::Module made(c10::QualifiedName("__torch__.torch.nn.modules.linear.Linear"), unit, true);
    made.register_parameter("weight", (torch::randn({outputs, inputs}) * 0.3).set_requires_grad(true), false);
    made.register_parameter("bias", torch::zeros({outputs}).set_requires_grad(true), false);
    made.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
    return made;
  };
  torch::jit::Module model(c10::QualifiedName("__torch__.models.ScriptNet"), unit, true);
  model.register_attribute("training", c10::BoolType::get(), true);
  model.register_module("first", linear(4, 8));
  model.register_module("second", linear(8, 2));
  model.define("def forward(self, x):\n  return self.second.forward(torch.relu(self.first.forward(x)))\n");
  Tensors parameters;
  for (const Tensor& each : model.parameters()) parameters.push_back(each);
  torch::optim::SGD optimizer(parameters, 0.1);
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    const Tensor x = torch::randn({8, 4});
    torch::mse_loss(model.forward({x}).toTensor(), x.narrow(1, 0, 2)).backward();
    optimizer.step();
  }
  print_sum(parameters);
}

void lbfgs() {
  Net net;
  torch::optim::LBFGS optimizer(net->parameters(), torch::optim::LBFGSOptions(0.1).max_iter(4));
  const Tensor x = inputs(), y = labels();
  for (int i = 0; i < 3; ++i) {
    optimizer.step([&] {
      optimizer.zero_grad();
      Tensor loss = torch::nll_loss(torch::log_softmax(net->forward(x), 1), y);
      loss.backward();
      return loss;
    });
  }
  print_sum(net->parameters());
}

/// Trains in the parent and in children, which start after the parent's first steps.
void forks() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  train(net, optimizer, 3);
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Net own;
      torch::optim::SGD more(own->parameters(), 0.1);
      train(own, more, 5);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::printf("the child failed with %d\n", status);
  }
  train(net, optimizer, 3);
  print_sum(net->parameters());
}

void threads() {
  std::vector<Net> nets;
  for (int i = 0; i < 8; ++i) nets.emplace_back(4 + i);
  const Tensor x = inputs(), y = labels();
  std::vector<std::thread> running;
  for (Net& net : nets) {
    running.emplace_back([&x, &y, net]() mutable {
      torch::optim::SGD optimizer(net->parameters(), 0.1);
      for (int i = 0; i < 30; ++i) {
        optimizer.zero_grad();
        torch::nll_loss(torch::log_softmax(net->forward(x), 1), y).backward();
        optimizer.step();
      }
    });
  }
  for (std::thread& each : running) each.join();
  for (const Net& net : nets) print_sum(net->parameters());
}

void untrained() {
  Net net;
  const torch::NoGradGuard no_gradients;
  std::printf("%zu parameters\n", net->parameters().size());
  std::printf("mean %.6f\n", net->forward(inputs()).mean().item<double>());
}

/// Never steps.
void never_steps() {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int i = 0; i < 30; ++i) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(inputs()), labels()).backward();
  }
  print_sum(net->parameters());
}

/// Starts its own program with another shape.
void starts(const char* program) {
  std::fflush(stdout);
  if (std::system((std::string(program) + " mlp").c_str()) != 0) std::printf("the child failed\n");
}

/// Waits until the record of `loupe run` has these ticks. Used before an immediate end, for example by SIGKILL.
void await_ticks(int count) {
  for (int i = 0; i < 60'000 && ::access("loupe-runs", F_OK) == 0; ++i, ::usleep(1000)) {
    std::ifstream record("loupe-runs/trainers/record.jsonl");
    int found = 0;
    for (std::string line; std::getline(record, line);) found += line.find("\"kind\":\"tick\"") != std::string::npos;
    if (found >= count) return;
  }
}

}  // namespace

int main(int count, char** arguments) {
  at::set_num_threads(1);
  torch::manual_seed(7);
  const std::string shape = count > 1 ? arguments[1] : "mlp";
  if (shape == "mlp") mlp(20);
  if (shape == "once") mlp(1);
  if (shape == "waits") waits(arguments[2]);
  if (shape == "epochs") epochs();
  if (shape == "loader") loader();
  if (shape == "bare") bare();
  if (shape == "shuffled") shuffled();
  if (shape == "scaled") scaled();
  if (shape == "accumulates") accumulates();
  if (shape == "composed") composed();
  if (shape == "two_arms") two_arms();
  if (shape == "twin") twin();
  if (shape == "own_order") own_order(true);
  if (shape == "same_order") own_order(false);
  if (shape == "drawn") drawn();
  if (shape == "own_parameters") own_parameters();
  if (shape == "two_modules") two_modules();
  if (shape == "tied") tied();
  if (shape == "packed") packed();
  if (shape == "own_optimizer") own_optimizer();
  if (shape == "gone") gone();
  if (shape == "conv") conv();
  if (shape == "frozen_part") frozen_part();
  if (shape == "gan") gan();
  if (shape == "sequential") sequential();
  if (shape == "by_hand") by_hand();
  if (shape == "groups") groups();
  if (shape == "plain_class") plain_class();
  if (shape == "any_module") any_module();
  if (shape == "on_the_stack") on_the_stack();
  if (shape.rfind("one_child_", 0) == 0) one_child(shape.substr(10));
  if (shape == "twins") twins();
  if (shape == "in_turn") in_turn();
  if (shape == "one_batch") one_batch();
  if (shape == "only_forwards") only_forwards();
  if (shape == "evaluates_last") evaluates_last();
  if (shape == "lbfgs") lbfgs();
  if (shape == "forks") forks();
  if (shape == "script") script();
  if (shape == "falling_rate") falling_rate();
  if (shape == "slow_loader") slow_loader();
  if (shape == "keeps_graphs") keeps_graphs();
  if (shape == "threads") threads();
  if (shape == "untrained") untrained();
  if (shape == "never_steps") never_steps();
  if (shape == "starts") starts(arguments[0]);
  if (shape == "code") {
    mlp(5);
    std::exit(count > 2 ? std::atoi(arguments[2]) : 3);
  }
  if (shape == "leaves") {
    mlp(250);
    await_ticks(2);
    ::_exit(4);
  }
  if (shape == "aborts") {
    mlp(250);
    std::abort();
  }
  if (shape == "throws") {
    mlp(250);
    throw std::runtime_error("the program's own");
  }
  if (shape == "faults") {
    mlp(250);
    *static_cast<volatile int*>(nullptr) = 1;
  }
  if (shape == "handles") {
    std::signal(SIGSEGV, [](int) { ::_exit(9); });
    mlp(250);
    ::raise(SIGSEGV);
  }
  if (shape == "recovers") {
    std::signal(SIGSEGV, [](int) {});
    mlp(250);
    ::raise(SIGSEGV);
    mlp(150);
  }
  if (shape == "interrupted") {
    mlp(220);
    ::raise(SIGINT);
    mlp(30);
  }
  if (shape == "killed") {
    mlp(250);
    await_ticks(2);
    ::raise(SIGKILL);
  }
  if (shape == "main_goes") {
    mlp(120);
    std::thread([] {
      ::usleep(100'000);
      mlp(120);
      std::fflush(stdout);
    }).detach();
    ::pthread_exit(nullptr);
  }
  if (shape == "main_goes_first") {
    std::thread([] {
      ::usleep(100'000);
      mlp(120);
      std::fflush(stdout);
    }).detach();
    ::pthread_exit(nullptr);
  }
  if (shape == "strict") {
    mlp(120);
    std::fflush(stdout);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    mlp(1);
    std::fflush(stdout);
    ::syscall(SYS_exit, 6);  // exit_group() is forbidden, too
  }
  if (shape == "arguments") {
    for (int i = 2; i < count; ++i) std::printf("[%s]", arguments[i]);
    char line[64] = "";
    if (std::fgets(line, sizeof line, stdin) != nullptr) std::printf("<%s>", line);
  }
  return 0;
}
