/* The gatherers and preprocessors that come with every Loupe: their names, options and series, which are as stable as
 * the rest of the boundary. Lenses and configurations use these names. `loupe describe NAME` prints the defaults of
 * options. Gatherers whose name begins with LOUPE_DRAFT_GATHERERS are drafts: see loupe/draft/abi. */
#pragma once

#include <loupe/abi/entry.h>

#define LOUPE_DRAFT_GATHERERS "draft_"

/* Gatherers of a module's inputs, outputs and their gradients; they have no label. */
#define LOUPE_GATHER_FORWARD_INPUT "forward_input"     /* its first input, as its forward is entered */
#define LOUPE_GATHER_FORWARD "forward"                 /* its output, at each forward; option `output` */
#define LOUPE_GATHER_OUTPUT_GRADIENT "output_gradient" /* the gradient of its output; option `output` */
#define LOUPE_GATHER_INPUT_GRADIENT "input_gradient"   /* the gradient of its input; option `input` */

/* Gatherers of one parameter, which the label names. */
#define LOUPE_GATHER_PARAMETER_GRADIENT "parameter_gradient" /* its gradient, after each backward has added to it */
#define LOUPE_GATHER_STEP_GRADIENT "step_gradient"   /* its gradient as the optimizer is about to use it, once a step */
#define LOUPE_GATHER_CALL_PARAMETER "call_parameter" /* at each forward of its module */
#define LOUPE_GATHER_OPTIMIZER_STEP "optimizer_step" /* after each optimizer step */
#define LOUPE_GATHER_TICK "tick"                     /* once a tick */

/* A parameter, buffer or exposed value, or one of a child, around each forward; the label names it. */
#define LOUPE_GATHER_ATTRIBUTE "attribute" /* options `when` and `missing` */

/* Values that the trainer pushes; no module, no label. */
#define LOUPE_GATHER_PUSH "push"

/* Options of gatherers. */
#define LOUPE_GATHER_OPTION_OUTPUT "output"   /* integer: which output, from 0 */
#define LOUPE_GATHER_OPTION_INPUT "input"     /* integer: which input, from 0 */
#define LOUPE_GATHER_OPTION_WHEN "when"       /* string: "before" the forward, "after" it, or "both" */
#define LOUPE_GATHER_OPTION_MISSING "missing" /* boolean: also the forwards at which it has no value */

/* Preprocessors. All take `inplace` and `quantiles`. */
#define LOUPE_PREPROCESS_OUTPUT_NORM "output_norm"       /* NORM, a mean over the samples; of LOUPE_GATHER_FORWARD */
#define LOUPE_PREPROCESS_PARAMETER_NORM "parameter_norm" /* NORM of all elements */
#define LOUPE_PREPROCESS_OUTPUT_ACTIVATION "output_activation"     /* ACTIVATION, DEATH; units along dimension 1 */
#define LOUPE_PREPROCESS_GRADIENT_ACTIVATION "gradient_activation" /* ACTIVATION, DEATH; units along dimension 0 */
#define LOUPE_PREPROCESS_GRADIENT_GEOMETRY "gradient_geometry"     /* NORM, CORRELATION */
#define LOUPE_PREPROCESS_OUTPUT_GRADIENT_GEOMETRY "output_gradient_geometry" /* the same */
#define LOUPE_PREPROCESS_PARAMETER_DIFFERENCE_GEOMETRY \
  "parameter_difference_geometry" /* the same, for its change since the previous event */
#define LOUPE_PREPROCESS_PARAMETER_CONDITION "parameter_condition" /* CONDITION; slow: for LOUPE_GATHER_TICK */
#define LOUPE_PREPROCESS_LOSS_MODULE "loss_module"     /* a loss module's output; two series, named by its options */
#define LOUPE_PREPROCESS_EXPLICIT_CALL "explicit_call" /* for LOUPE_GATHER_PUSH: one series for each pushed name */

/* Series of preprocessors. */
#define LOUPE_SERIES_NORM "norm" /* the L2 norm */
#define LOUPE_SERIES_CORRELATION                                                                                      \
  "correlation" /* the cosine of the angle to the previous one, from -1 to 1; unlike Pearson's, no mean is subtracted \
                 */
#define LOUPE_SERIES_ACTIVATION "activation" /* the share of entries that are active */
#define LOUPE_SERIES_DEATH "death"           /* the share of units without an active entry in the whole event */
#define LOUPE_SERIES_CONDITION "condition"   /* the largest singular value over the smallest */

/* Options of preprocessors; booleans unless stated otherwise. */
#define LOUPE_PREPROCESS_OPTION_INPLACE "inplace"         /* fold values as they come; false: keep them all */
#define LOUPE_PREPROCESS_OPTION_QUANTILES "quantiles"     /* if they are folded, also keep a sketch for quantiles */
#define LOUPE_PREPROCESS_OPTION_NORMALIZE "normalize"     /* NORM: divide by the root of the number of elements */
#define LOUPE_PREPROCESS_OPTION_CORRELATION "correlation" /* compute that series; it needs a copy of each event */
#define LOUPE_PREPROCESS_OPTION_FIRST "first"             /* CORRELATION: the first event counts as 0 */
#define LOUPE_PREPROCESS_OPTION_DEATH "death"             /* compute that series */
#define LOUPE_PREPROCESS_OPTION_EPS \
  "eps" /* number. ACTIVATION: larger values are active; CORRELATION: added to the product of norms in the divisor */
#define LOUPE_PREPROCESS_OPTION_CHANNEL_LAST "channel_last" /* DEATH: units lie along the last dimension */
#define LOUPE_PREPROCESS_OPTION_RECORD_EVAL "record_eval"   /* also count forwards of evaluations */
#define LOUPE_PREPROCESS_OPTION_EVALUATION_FROM_GRAD \
  "evaluation_from_grad" /* a forward without gradients is an evaluation; false: one in eval mode is */
#define LOUPE_PREPROCESS_OPTION_TRAIN_LOSS "train_loss" /* string: the series of training */
#define LOUPE_PREPROCESS_OPTION_VAL_LOSS "val_loss"     /* string: the series of evaluation */
#define LOUPE_PREPROCESS_OPTION_SELECT "select"         /* string: "losses", "metrics" or "all" pushes */
