#pragma once

#include <torch/torch.h>

#include <vector>

namespace zoo {

/// Inputs and what a model should answer; the first dimension of both is the sample.
struct Examples {
  torch::Tensor inputs, answers;
};

// All are drawn from LibTorch's global generator, so that a seed fixes them. Inputs are about standardized.

/// Gaussian clouds, one a class: (count, features) floats.
Examples blobs(int64_t count = 960, int64_t features = 16, int64_t classes = 4);
/// Stripes of four directions in noise: (count, 1, 8, 8) floats, four classes.
Examples images(int64_t count = 960);
/// Whether the first of four features is positive on the average over time: (count, length, 4) floats, two classes.
Examples sequences(int64_t count = 960, int64_t length = 12);
/// Word numbers, of which few are frequent and most are rare; a class prefers its own: (count, length), four classes.
/// Number 0 stands for padding and is not drawn.
Examples texts(int64_t count = 960, int64_t length = 10, int64_t vocabulary = 400);
/// A smooth function of a few features and a little noise: (count, features) floats, (count, 1) floats.
Examples curves(int64_t count = 960, int64_t features = 8);

/// Batches in another order each time; the last one may be smaller.
std::vector<Examples> batches(const Examples& examples, int64_t size, bool drop_last = false);

}  // namespace zoo
