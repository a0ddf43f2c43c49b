#pragma once

#include "torch/tensor/compat.h"

namespace loupe {

/// Declares taps of `mul_` by a number, which clips use to change gradients; once. LibTorch's clips themselves are
/// inline functions, which no tap sees.
void declare_clip_taps();

/// Call before a program multiplies or clamps a tensor in place, as a clip does.
void note_clipped(const at::Tensor& tensor);
/// Whether a clip found this gradient all 0 since the last step, and it still is. Only the first gradient of a clip is
/// noted. Call it when a backward pass is about to add to it: then its memory was not another tensor's when it was
/// clipped.
bool was_clipped_early(const at::Tensor& gradient);
/// Whether anything that was not all 0 was clipped after that.
bool was_clipped_later();
/// A step is over: forgets its clips.
void forget_clips();

}  // namespace loupe
