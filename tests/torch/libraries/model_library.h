#pragma once

#include <torch/torch.h>

/// The exports of libmodels.so. make_model creates a model whose code is in this library, as in trainers that load
/// models. The caller owns the model through the pointer.
extern "C" void make_model(std::shared_ptr<torch::nn::Module>* model);
/// Runs the model's forward: a linear layer, relu, a batch norm, tanh.
extern "C" void run_model(torch::nn::Module* model, const at::Tensor* input, at::Tensor* output);
