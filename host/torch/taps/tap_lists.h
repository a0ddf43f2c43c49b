#pragma once

#include <torch/nn.h>

#include "torch/tensor/compat.h"

// Lists of names in lines, which clang-format would join.
// clang-format off

// The modules of LibTorch's whose forward its library exports, without "torch::nn::" and "Impl".

/// Modules that count as one layer each: functions called inside are not shown.
#define LOUPE_LEAVES(ONE) \
  ONE(AdaptiveAvgPool1d) ONE(AdaptiveAvgPool2d) ONE(AdaptiveAvgPool3d) ONE(AdaptiveMaxPool1d) ONE(AdaptiveMaxPool2d) \
  ONE(AdaptiveMaxPool3d) ONE(AlphaDropout) ONE(AvgPool1d) ONE(AvgPool2d) ONE(AvgPool3d) ONE(BCELoss) \
  ONE(BCEWithLogitsLoss) ONE(Bilinear) ONE(CELU) ONE(CTCLoss) ONE(ConstantPad1d) ONE(ConstantPad2d) \
  ONE(ConstantPad3d) ONE(Conv1d) ONE(Conv2d) ONE(Conv3d) ONE(ConvTranspose1d) ONE(ConvTranspose2d) \
  ONE(ConvTranspose3d) ONE(CosineEmbeddingLoss) ONE(CosineSimilarity) ONE(CrossEntropyLoss) ONE(CrossMapLRN2d) \
  ONE(Dropout) ONE(Dropout2d) ONE(Dropout3d) ONE(ELU) ONE(Embedding) ONE(EmbeddingBag) ONE(FeatureAlphaDropout) \
  ONE(Flatten) ONE(Fold) ONE(FractionalMaxPool2d) ONE(FractionalMaxPool3d) ONE(GELU) ONE(GLU) ONE(GRU) ONE(GRUCell) \
  ONE(GroupNorm) ONE(Hardshrink) ONE(Hardtanh) ONE(HingeEmbeddingLoss) ONE(HuberLoss) ONE(Identity) ONE(KLDivLoss) \
  ONE(L1Loss) ONE(LPPool1d) ONE(LPPool2d) ONE(LSTM) ONE(LSTMCell) ONE(LayerNorm) ONE(LeakyReLU) ONE(Linear) \
  ONE(LocalResponseNorm) ONE(LogSigmoid) ONE(LogSoftmax) ONE(MSELoss) ONE(MarginRankingLoss) ONE(MaxPool1d) \
  ONE(MaxPool2d) ONE(MaxPool3d) ONE(MaxUnpool1d) ONE(MaxUnpool2d) ONE(MaxUnpool3d) ONE(Mish) \
  ONE(MultiLabelMarginLoss) ONE(MultiLabelSoftMarginLoss) ONE(MultiMarginLoss) ONE(MultiheadAttention) ONE(NLLLoss) \
  ONE(PReLU) ONE(PairwiseDistance) ONE(PixelShuffle) ONE(PixelUnshuffle) ONE(PoissonNLLLoss) ONE(RNN) ONE(RNNCell) \
  ONE(RReLU) ONE(ReLU) ONE(ReLU6) ONE(ReflectionPad1d) ONE(ReflectionPad2d) ONE(ReplicationPad1d) \
  ONE(ReplicationPad2d) ONE(ReplicationPad3d) ONE(SELU) ONE(SiLU) ONE(Sigmoid) ONE(SmoothL1Loss) ONE(SoftMarginLoss) \
  ONE(Softmax) ONE(Softmax2d) ONE(Softmin) ONE(Softplus) ONE(Softshrink) ONE(Softsign) ONE(Tanh) ONE(Tanhshrink) \
  ONE(Threshold) ONE(TripletMarginLoss) ONE(TripletMarginWithDistanceLoss) ONE(Unflatten) ONE(Unfold) ONE(Upsample) \
  ONE(ZeroPad2d)

#if LOUPE_TORCH_AT_LEAST(2, 1)
#define LOUPE_LEAVES_SINCE(ONE) ONE(LPPool3d) ONE(ReflectionPad3d) ONE(ZeroPad1d) ONE(ZeroPad3d)
#else
#define LOUPE_LEAVES_SINCE(ONE) ONE(ReflectionPad3d)
#endif

/// Modules with a further forward, for packed sequences.
#define LOUPE_PACKED(ONE) ONE(GRU) ONE(LSTM) ONE(RNN)

/// Functions that run modules or functions with their own taps.
#define LOUPE_INNERS(ONE) \
  ONE(AdaptiveLogSoftmaxWithLoss) ONE(Functional) ONE(Transformer) ONE(TransformerDecoder) \
  ONE(TransformerDecoderLayer) ONE(TransformerEncoder) ONE(TransformerEncoderLayer)

// The kinds of functions that count like layers.
#define LOUPE_ACTIVATIONS(ONE) \
  ONE(relu) ONE(relu6) ONE(leaky_relu) ONE(elu) ONE(selu) ONE(celu) ONE(gelu) ONE(silu) ONE(mish) ONE(sigmoid) \
  ONE(tanh) ONE(softplus) ONE(softshrink) ONE(hardshrink) ONE(hardtanh) ONE(hardswish) ONE(hardsigmoid) ONE(prelu) \
  ONE(rrelu) ONE(glu) ONE(log_sigmoid) ONE(softmax) ONE(log_softmax) ONE(threshold) ONE(softsign) ONE(clamp) \
  ONE(clamp_min) ONE(maximum)
#define LOUPE_DROPOUTS(ONE) ONE(dropout) ONE(feature_dropout) ONE(alpha_dropout)

// The functions that count like layers: ONE(kind, operator) for each operator of at::_ops, by the kind that it is shown
// as. A function and its in-place form are one kind.

/// LibTorch itself also calls these two as a transformer layer's activation; others it calls inside losses and cells.
#define LOUPE_FUNCTIONS_EVERYWHERE(ONE) \
  ONE(relu, relu)                       \
  ONE(gelu, gelu)

/// Overloads for named dimensions: 2.6 has them, 2.13 does not. A header's presence proves nothing: another LibTorch's
/// may be on the system's path.
#if !LOUPE_TORCH_AT_LEAST(2, 7)
#define LOUPE_NAMED_FUNCTIONS(ONE) \
  ONE(softmax, softmax_Dimname)    \
  ONE(log_softmax, log_softmax_Dimname)
#else
#define LOUPE_NAMED_FUNCTIONS(ONE)
#endif

#define LOUPE_FUNCTIONS(ONE) \
  LOUPE_NAMED_FUNCTIONS(ONE) ONE(relu, relu_) ONE(gelu, gelu_) ONE(relu6, relu6) ONE(relu6, relu6_) \
  ONE(leaky_relu, leaky_relu) ONE(leaky_relu, leaky_relu_) ONE(elu, elu) ONE(elu, elu_) ONE(selu, selu) \
  ONE(selu, selu_) ONE(celu, celu) ONE(celu, celu_) ONE(silu, silu) ONE(silu, silu_) ONE(mish, mish) \
  ONE(mish, mish_) ONE(sigmoid, sigmoid) ONE(sigmoid, sigmoid_) ONE(sigmoid, special_expit) ONE(tanh, tanh) \
  ONE(tanh, tanh_) ONE(softplus, softplus) ONE(softshrink, softshrink) ONE(hardshrink, hardshrink) \
  ONE(hardtanh, hardtanh) ONE(hardtanh, hardtanh_) ONE(hardswish, hardswish) ONE(hardswish, hardswish_) \
  ONE(hardsigmoid, hardsigmoid) ONE(hardsigmoid, hardsigmoid_) ONE(prelu, prelu) ONE(rrelu, rrelu) \
  ONE(rrelu, rrelu_) ONE(glu, glu) ONE(log_sigmoid, log_sigmoid) ONE(softmax, softmax_int) \
  ONE(softmax, special_softmax) ONE(log_softmax, log_softmax_int) ONE(log_softmax, special_log_softmax) \
  ONE(threshold, threshold) ONE(threshold, threshold_) ONE(clamp, clamp) ONE(clamp, clamp_) \
  ONE(clamp_min, clamp_min) ONE(clamp_min, clamp_min_) ONE(maximum, maximum) ONE(maximum, max_other) \
  ONE(dropout, dropout) ONE(dropout, dropout_) ONE(feature_dropout, feature_dropout) \
  ONE(feature_dropout, feature_dropout_) ONE(alpha_dropout, alpha_dropout) ONE(alpha_dropout, alpha_dropout_) \
  ONE(alpha_dropout, feature_alpha_dropout) ONE(alpha_dropout, feature_alpha_dropout_)

// clang-format on
