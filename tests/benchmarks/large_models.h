#pragma once

#include <torch/torch.h>

#include <cmath>

namespace loupe::bench {

namespace nn = torch::nn;

/// One layer of a GPT, of LibTorch's own modules.
struct GptBlockImpl : nn::Module {
  GptBlockImpl(int64_t width, int64_t heads)
      : norm1(nn::LayerNormOptions({width})),
        attention(nn::MultiheadAttentionOptions(width, heads)),
        norm2(nn::LayerNormOptions({width})),
        up(width, 4 * width),
        down(4 * width, width) {
    register_module("norm1", norm1);
    register_module("attention", attention);
    register_module("norm2", norm2);
    register_module("up", up);
    register_module("gelu", gelu);
    register_module("down", down);
  }
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask) {
    const auto y = norm1(x);
    x = x + std::get<0>(attention(y, y, y, torch::Tensor(), /*need_weights=*/false, mask));
    return x + down(gelu(up(norm2(x))));
  }
  nn::LayerNorm norm1;
  nn::MultiheadAttention attention;
  nn::LayerNorm norm2;
  nn::Linear up;
  nn::GELU gelu;
  nn::Linear down;
};
TORCH_MODULE(GptBlock);

/// Takes tokens [context, batch], gives scores [context * batch, vocabulary].
struct GptImpl : nn::Module {
  GptImpl(int64_t layers, int64_t width, int64_t heads, int64_t context, int64_t vocabulary)
      : tokens(vocabulary, width),
        places(context, width),
        norm(nn::LayerNormOptions({width})),
        head(width, vocabulary),
        mask(torch::full({context, context}, -INFINITY).triu(1)),
        positions(torch::arange(context)) {
    register_module("tokens", tokens);
    register_module("places", places);
    for (int64_t i = 0; i < layers; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), GptBlock(width, heads)));
    register_module("norm", norm);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& input) {
    auto x = tokens(input) + places(positions).unsqueeze(1);
    for (GptBlock& block : blocks) x = block(x, mask);
    return head(norm(x)).flatten(0, 1);
  }
  nn::Embedding tokens, places;
  std::vector<GptBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
  torch::Tensor mask, positions;
};
TORCH_MODULE(Gpt);

/// A cell that runs once a time step: takes [steps, batch, width].
struct CellLoopImpl : nn::Module {
  CellLoopImpl(int64_t width, int64_t hidden) : cell(width, hidden), head(hidden, 10) {
    register_module("cell", cell);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& input) {
    std::tuple<torch::Tensor, torch::Tensor> state = cell(input[0]);
    for (int64_t step = 1; step < input.size(0); ++step) state = cell(input[step], state);
    return head(std::get<0>(state));
  }
  nn::LSTMCell cell;
  nn::Linear head;
};
TORCH_MODULE(CellLoop);

}  // namespace loupe::bench
