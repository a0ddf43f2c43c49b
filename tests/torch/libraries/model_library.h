#pragma once

#include <torch/torch.h>

/// What libmodels.so exports: a model whose code lies in a library of its own, as trainers load it. The caller owns it
/// through the pointer.
extern "C" void make_model(std::shared_ptr<torch::nn::Module>* model);
/// Runs its forward: a linear layer, relu, a batch norm, tanh.
extern "C" void run_model(torch::nn::Module* model, const at::Tensor* input, at::Tensor* output);
