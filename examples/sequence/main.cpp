// An LSTM learns to continue a text, character by character. A small grammar generates the text at the start.

#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "common/arguments.h"

namespace nn = torch::nn;

const std::string alphabet = "abcdefghijklmnopqrstuvwxyz .";

struct WriterImpl : nn::Module {
  WriterImpl()
      : embedding(static_cast<int64_t>(alphabet.size()), 24),
        memory(nn::LSTMOptions(24, 96).batch_first(true)),
        norm(nn::LayerNormOptions({96})),
        output(96, static_cast<int64_t>(alphabet.size())) {
    register_module("embedding", embedding);
    register_module("memory", memory);
    register_module("norm", norm);
    register_module("output", output);
  }

  /// Maps {batch, length} characters to {batch, length, alphabet} scores of each next character.
  torch::Tensor forward(torch::Tensor characters) {
    const auto [remembered, state] = memory(embedding(characters));
    return output(norm(remembered));
  }

  nn::Embedding embedding;
  nn::LSTM memory;
  nn::LayerNorm norm;
  nn::Linear output;
};
TORCH_MODULE(Writer);

/// Returns {rows, length + 1} characters as indices into the alphabet.
torch::Tensor write_text(int64_t rows, int64_t length) {
  const std::vector<std::vector<std::string>> sentence = {
      {"the", "a", "every", "no"},
      {"quick", "lazy", "curious", "tiny", "yellow"},
      {"fox", "programmer", "tensor", "gradient", "wizard"},
      {"watches", "follows", "jumps over", "quietly mixes"},
      {"the", "one", "another"},
      {"box.", "big network.", "heavy kernel.", "loss."},
  };
  std::mt19937 random(1);
  std::string text;
  const auto characters = static_cast<std::size_t>(rows * (length + 1));
  while (text.size() < characters) {
    for (const auto& choices : sentence) text += choices[random() % choices.size()] + ' ';
  }
  std::vector<int64_t> places;
  for (std::size_t i = 0; i < characters; ++i) places.push_back(static_cast<int64_t>(alphabet.find(text[i])));
  return torch::tensor(places).view({rows, length + 1});
}

struct Guess {
  torch::Tensor loss;
  double accuracy;
};

Guess guess(Writer& model, const torch::Tensor& text) {
  const torch::Tensor next = text.slice(1, 1).flatten();
  const torch::Tensor scores = model(text.slice(1, 0, -1)).flatten(0, 1);
  return {nn::functional::cross_entropy(scores, next),
          scores.argmax(1).eq(next).to(torch::kDouble).mean().item<double>()};
}

std::string go_on(Writer& model, std::string text, std::size_t length) {
  while (text.size() < length) {
    std::vector<int64_t> places;
    for (char character : text) places.push_back(static_cast<int64_t>(alphabet.find(character)));
    const torch::Tensor scores = model(torch::tensor(places).unsqueeze(0))[0][-1];
    text += alphabet[static_cast<std::size_t>(scores.argmax().item<int64_t>())];
  }
  return text;
}

void train(const examples::Arguments& arguments) {
  torch::manual_seed(1);
  const torch::Tensor text = write_text(600, 64);
  const torch::Tensor training = text.slice(0, 0, 540);
  const torch::Tensor validation = text.slice(0, 540);

  Writer model;
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(4e-3));

  auto inspector = loupe::Inspector::from_yaml(arguments.config);
  inspector.attach(*model, optimizer);

  for (int epoch : inspector.epochs(arguments.epochs)) {
    model->train();
    for (const torch::Tensor& rows : torch::randperm(training.size(0)).split(32)) {
      optimizer.zero_grad();
      const auto [loss, accuracy] = guess(model, training.index_select(0, rows));
      loss.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 1.0);
      optimizer.step();
      inspector.push_loss(loss, /*train=*/true);
      inspector.push_metric("training_accuracy", accuracy);
    }
    torch::NoGradGuard no_grad;
    model->eval();
    const auto [loss, accuracy] = guess(model, validation);
    inspector.push_loss(loss, /*train=*/false);
    inspector.push_metric("accuracy", accuracy);
    std::printf("epoch %2d/%d  validation loss %.4f  accuracy %.1f %%  %s\n", epoch, arguments.epochs,
                loss.item<double>(), 100 * accuracy, go_on(model, "a tiny ", 48).c_str());
    std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  const auto arguments = examples::read_arguments(argc, argv, "Learns to go on with a text, character by character.",
                                                  {"configs/sequence.yaml", 12, ".", ""});
  try {
    train(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
