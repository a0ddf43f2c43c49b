#pragma once

#include "torch/tensor/compat.h"

namespace loupe {

/// Declares taps of `mul_` by a number, with which clips change gradients; once. LibTorch's clips themselves are inline
/// functions, which no tap sees.
void declare_clip_taps();

/// Call before a program multiplies or clamps a tensor in place, as a clip does.
void note_clipped(const at::Tensor& tensor);
/// Whether a clip found this gradient to be all 0, as it is still, since the last step. Of all gradients that a clip
/// was given, the first stands for the others. While a backward pass is about to add to it: then its memory was no
/// other tensor's when it was clipped.
bool was_clipped_early(const at::Tensor& gradient);
/// Whether anything that was not all 0 was clipped after that.
bool was_clipped_later();
/// A step is over: the next one's clip is another.
void forget_clips();

}  // namespace loupe
