#pragma once

#include "torch/tensor/compat.h"

// The functions that count like layers: ONE(kind, operator) for each operator of at::_ops, by the kind that it is shown
// as. A function and its in-place form are one kind.

/// Also LibTorch itself calls these two as a transformer layer's activation; others it calls inside losses and cells.
#define LOUPE_FUNCTIONS_EVERYWHERE(ONE) \
  ONE(relu, relu)                       \
  ONE(gelu, gelu)

/// Of tensors with named dimensions: 2.6 has them, 2.13 has not. A header's presence does not tell: there may be
/// another LibTorch's on the system's path.
#if !LOUPE_TORCH_AT_LEAST(2, 7)
#define LOUPE_NAMED_FUNCTIONS(ONE) \
  ONE(softmax, softmax_Dimname)    \
  ONE(log_softmax, log_softmax_Dimname)
#else
#define LOUPE_NAMED_FUNCTIONS(ONE)
#endif

#define LOUPE_FUNCTIONS(ONE)                \
  LOUPE_NAMED_FUNCTIONS(ONE)                \
  ONE(relu, relu_)                          \
  ONE(gelu, gelu_)                          \
  ONE(relu6, relu6)                         \
  ONE(relu6, relu6_)                        \
  ONE(leaky_relu, leaky_relu)               \
  ONE(leaky_relu, leaky_relu_)              \
  ONE(elu, elu)                             \
  ONE(elu, elu_)                            \
  ONE(selu, selu)                           \
  ONE(selu, selu_)                          \
  ONE(celu, celu)                           \
  ONE(celu, celu_)                          \
  ONE(silu, silu)                           \
  ONE(silu, silu_)                          \
  ONE(mish, mish)                           \
  ONE(mish, mish_)                          \
  ONE(sigmoid, sigmoid)                     \
  ONE(sigmoid, sigmoid_)                    \
  ONE(sigmoid, special_expit)               \
  ONE(tanh, tanh)                           \
  ONE(tanh, tanh_)                          \
  ONE(softplus, softplus)                   \
  ONE(softshrink, softshrink)               \
  ONE(hardshrink, hardshrink)               \
  ONE(hardtanh, hardtanh)                   \
  ONE(hardtanh, hardtanh_)                  \
  ONE(hardswish, hardswish)                 \
  ONE(hardswish, hardswish_)                \
  ONE(hardsigmoid, hardsigmoid)             \
  ONE(hardsigmoid, hardsigmoid_)            \
  ONE(prelu, prelu)                         \
  ONE(rrelu, rrelu)                         \
  ONE(rrelu, rrelu_)                        \
  ONE(glu, glu)                             \
  ONE(log_sigmoid, log_sigmoid)             \
  ONE(softmax, softmax_int)                 \
  ONE(softmax, special_softmax)             \
  ONE(log_softmax, log_softmax_int)         \
  ONE(log_softmax, special_log_softmax)     \
  ONE(threshold, threshold)                 \
  ONE(threshold, threshold_)                \
  ONE(clamp, clamp)                         \
  ONE(clamp, clamp_)                        \
  ONE(clamp_min, clamp_min)                 \
  ONE(clamp_min, clamp_min_)                \
  ONE(maximum, maximum)                     \
  ONE(maximum, max_other)                   \
  ONE(dropout, dropout)                     \
  ONE(dropout, dropout_)                    \
  ONE(feature_dropout, feature_dropout)     \
  ONE(feature_dropout, feature_dropout_)    \
  ONE(alpha_dropout, alpha_dropout)         \
  ONE(alpha_dropout, alpha_dropout_)        \
  ONE(alpha_dropout, feature_alpha_dropout) \
  ONE(alpha_dropout, feature_alpha_dropout_)
