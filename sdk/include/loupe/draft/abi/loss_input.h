/* A draft: it may change or go without notice. The arguments of LibTorch's loss functions. A component asks for this id
 * at create; the answer is null if the host lacks the draft, else a pointer that is not read. */
#pragma once

#include <loupe/abi/builtin.h>
#include <loupe/abi/events.h>

#define LOUPE_DRAFT_LOSS_INPUT_ID "loupe.loss_input/draft-1"

/* An event of a model's root, before a loss is computed. tensor: the loss function's input; inputs: the input and the
 * target, which may have other shapes; flags: also LOUPE_DRAFT_LOSS_ bits. */
enum { LOUPE_DRAFT_TAP_LOSS_INPUT = LOUPE_TAP_DRAFTS + 1 };
/* The gatherer of these events. */
#define LOUPE_DRAFT_GATHER_LOSS_INPUT LOUPE_DRAFT_GATHERERS "loss_input"

/* The lowest ten bits of LOUPE_EVENT_DRAFTS, only at this tap. (flags & LOUPE_DRAFT_LOSS_FUNCTION_MASK) is the
 * function. */
enum {
  LOUPE_DRAFT_LOSS_FUNCTION_MASK = 0xF << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_CROSS_ENTROPY = 1 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_NLL = 2 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_MSE = 3 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_L1 = 4 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_SMOOTH_L1 = 5 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_HUBER = 6 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY = 7 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY_WITH_LOGITS = 8 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_KL_DIV = 9 << LOUPE_DRAFT_SHIFT,
  LOUPE_DRAFT_LOSS_LIKENESS = 10 << LOUPE_DRAFT_SHIFT /* how alike outputs are; input and target: two of these */
};

/* (flags & LOUPE_DRAFT_LOSS_MADE_BY_MASK) is the function that computed the input, if gradients are recorded; 0 for any
 * other. */
enum {
  LOUPE_DRAFT_LOSS_MADE_BY_MASK = 0xF << (LOUPE_DRAFT_SHIFT + 4),
  LOUPE_DRAFT_LOSS_MADE_BY_SIGMOID = 1 << (LOUPE_DRAFT_SHIFT + 4),
  LOUPE_DRAFT_LOSS_MADE_BY_TANH = 2 << (LOUPE_DRAFT_SHIFT + 4),
  LOUPE_DRAFT_LOSS_MADE_BY_SOFTMAX = 3 << (LOUPE_DRAFT_SHIFT + 4),
  LOUPE_DRAFT_LOSS_MADE_BY_LOG_SOFTMAX = 4 << (LOUPE_DRAFT_SHIFT + 4),
  LOUPE_DRAFT_LOSS_MADE_BY_RELU = 5 << (LOUPE_DRAFT_SHIFT + 4)
};

/* The target requires a gradient, and the input does not. */
enum { LOUPE_DRAFT_LOSS_TARGET_ALONE_HAS_GRADIENT = 1 << (LOUPE_DRAFT_SHIFT + 8) };

/* A loss over classes was given a weight for each class, or an index to ignore. */
enum { LOUPE_DRAFT_LOSS_CHOOSES_TARGETS = 1 << (LOUPE_DRAFT_SHIFT + 9) };
