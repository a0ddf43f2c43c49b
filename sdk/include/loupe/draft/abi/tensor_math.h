/* A draft: it may change or go without notice. Host services for whole tensors: computations, files, the graph that
 * computed them, fingerprints that compare them between processes, and optimizer states. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_DRAFT_TENSOR_MATH_ID "loupe.tensor_math/draft-1"

/* The ways to fold tensors into one. */
enum { LOUPE_DRAFT_FOLD_SUM = 1, LOUPE_DRAFT_FOLD_MEAN = 2, LOUPE_DRAFT_FOLD_MAX = 3, LOUPE_DRAFT_FOLD_MIN = 4 };

/* Host service LOUPE_DRAFT_TENSOR_MATH_ID. */
typedef struct loupe_draft_tensor_math_service {
  uint32_t struct_size, reserved;
  /* The singular values of a matrix, largest first; count is how many are written, at most `capacity`. More than two
   * dimensions are flattened from dim 1. Slow: for a tick, not for a hook. Refuses fewer than two dimensions, and a
   * matrix with NaN or Inf. */
  /* @thread any @state always @reenter none @owns caller's buffer of `capacity` doubles @since 1.0 */
  loupe_status (*singular_values)(void* context, const loupe_tensor* matrix, double* values, size_t capacity,
                                  size_t* count, loupe_error* error);
  /* Clones item `item` along dimension 0, as loupe_tensor_service does. */
  /* @thread any @state always @reenter none @owns caller releases the handle @since 1.0 */
  loupe_status (*clone_item)(void* context, const loupe_tensor* tensor, int64_t item, loupe_retained** kept,
                             loupe_error* error);
  /* Makes a clone, in place, the LOUPE_DRAFT_FOLD_SUM, MEAN, MAX or MIN of `count` tensors folded so far and one more
   * of the same shape. Waits for no device. */
  /* @thread any @state always @reenter none @owns borrows tensor @since 1.0 */
  loupe_status (*fold)(void* context, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation,
                       uint64_t count, loupe_error* error);
} loupe_draft_tensor_math_service;

#define LOUPE_DRAFT_TENSOR_FILES_ID "loupe.tensor_files/draft-1"

enum {
  LOUPE_DRAFT_SAVE_LIST = 1u << 0 /* save a list of tensors, even a single one; otherwise only the first tensor */
};

/* Host service LOUPE_DRAFT_TENSOR_FILES_ID. */
typedef struct loupe_draft_tensor_file_service {
  uint32_t struct_size, reserved;
  /* Writes a file that torch.load reads, in C++ and Python. `flags`: LOUPE_DRAFT_SAVE_ bits. */
  /* @thread any @state always @reenter none @owns borrows tensors and path @since 1.0 */
  loupe_status (*save)(void* context, const loupe_retained* const* tensors, size_t count, uint32_t flags,
                       const char* path, loupe_error* error);
} loupe_draft_tensor_file_service;

#define LOUPE_DRAFT_GRAPH_ID "loupe.graph/draft-1"

/* `data`: the address of a leaf's elements, as in loupe_tensor. */
/* @thread trainer or model @state within a call of leaves @reenter none @owns nothing @since 1.0 */
typedef void (*loupe_draft_take_leaf)(void* context, const void* data);

/* A function of autograd's graph. Texts are valid during the call; none is null. */
typedef struct loupe_draft_maker {
  uint32_t struct_size, reserved;
  const char* function; /* "LogBackward0" */
  const char* seen;     /* what it did, a predicate: "takes the logarithm of 0 in 3 of 320 elements" */
  const char* advice;   /* or "" */
} loupe_draft_maker;

/* @thread trainer or model @state within a call of maker or steep @reenter none @owns borrows maker @since 1.0 */
typedef void (*loupe_draft_take_maker)(void* context, const loupe_draft_maker* maker);

/* Host service LOUPE_DRAFT_GRAPH_ID. */
typedef struct loupe_draft_graph_service {
  uint32_t struct_size, reserved;
  /* While an event is processed: calls `take` once with each leaf that requires a gradient and that the event's tensor
   * depends on. Walks the whole graph. Waits for no device. */
  /* @thread trainer or model @state always @reenter none @owns borrows tensor @since 1.0 */
  loupe_status (*leaves)(void* context, const loupe_tensor* tensor, loupe_draft_take_leaf take, void* take_context,
                         loupe_error* error);
  /* While an event is processed: calls `take` with the function that made the NaN or Inf of the event's tensor or one
   * of its inputs, or, if `tensor` is null, of the loss that is pushed; not at all if the graph does not show it. Reads
   * the tensors that functions saved: call it only when there is something to report. Waits for the tensor's device. */
  /* @thread trainer or model @state always @reenter none @owns borrows tensor @since 1.0 */
  loupe_status (*maker)(void* context, const loupe_tensor* tensor, loupe_draft_take_maker take, void* take_context,
                        loupe_error* error);
  /* Calls `take` with each function between the loss that this thread pushed last and `parameter`, as
   * loupe_parameter_service lends it, whose slope is not finite at a possible input; with none if the program has
   * released the loss. If `parameter` is null: with a subtraction near that loss, if any, that repeats N numbers with a
   * gradient to N x N because of the other operand's shape, seen: "repeats [30, 1] to [30, 30]". */
  /* @thread trainer or model @state always @reenter none @owns borrows parameter @since 1.0 */
  loupe_status (*steep)(void* context, const loupe_tensor* parameter, loupe_draft_take_maker take, void* take_context,
                        loupe_error* error);
} loupe_draft_graph_service;

#define LOUPE_DRAFT_FINGERPRINTS_ID "loupe.fingerprints/draft-1"

/* Host service LOUPE_DRAFT_FINGERPRINTS_ID. */
typedef struct loupe_draft_fingerprint_service {
  uint32_t struct_size, reserved;
  /* Lets the tensor's device add up, in its queue, the bits of all elements or of a sample that depends only on the
   * shape. The same elements have the same sum, in any order of addition. Waits for no device. UNSUPPORTED if the
   * device cannot do it. */
  /* @thread any @state always @reenter none @owns caller releases the handle @since 1.0 */
  loupe_status (*take)(void* context, const loupe_tensor* tensor, loupe_retained** sum, loupe_error* error);
  /* Reads `count` sums returned by take(). Waits for their devices, once for each: for a tick, not for a hook. */
  /* @thread any @state always @reenter none @owns borrows sums; caller's buffer @since 1.0 */
  loupe_status (*read)(void* context, const loupe_retained* const* sums, size_t count, uint64_t* values,
                       loupe_error* error);
} loupe_draft_fingerprint_service;

#define LOUPE_DRAFT_OPTIMIZER_STATES_ID "loupe.optimizer_states/draft-1"

/* `name`: the state's name in LibTorch: "momentum_buffer", "exp_avg", "step". */
/* @thread trainer or model @state within a call of lend @reenter none @owns borrows name and state @since 1.0 */
typedef void (*loupe_draft_take_state)(void* context, const char* name, const loupe_tensor* state);

/* Host service LOUPE_DRAFT_OPTIMIZER_STATES_ID. */
typedef struct loupe_draft_optimizer_state_service {
  uint32_t struct_size, reserved;
  /* Within a lens's `step`: calls `take` with each state that the optimizer which has just stepped keeps for
   * `parameter`, as loupe_parameter_service lends it; in the same order in every process. A state has the parameter's
   * shape and device, except "step", an int64 of no dimensions on the CPU, and those of LBFGS, which cover all
   * parameters and are kept with the first. Later steps write into the same memory, so a retained state shows later
   * values, except "step" and LBFGS's, which stay as they were. Waits for no device. NOT_FOUND if it keeps none (plain
   * SGD, a parameter of another optimizer, a type that is not LibTorch's), and outside the report of a step that a tap
   * saw. */
  /* @thread trainer or model @state stepping @reenter take @owns borrows parameter @since 1.0 */
  loupe_status (*lend)(void* context, const loupe_tensor* parameter, loupe_draft_take_state take, void* take_context,
                       loupe_error* error);
} loupe_draft_optimizer_state_service;

#define LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID "loupe.optimizer_defaults/draft-1"

/* Host service LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID. */
typedef struct loupe_draft_optimizer_defaults_service {
  uint32_t struct_size, reserved;
  /* Within a lens's `step`: the learning rate in the defaults() of the optimizer that has just stepped, which groups
   * added without options get; no step reads it. NOT_FOUND for a type that is not LibTorch's, and outside the report of
   * a step that a tap saw. */
  /* @thread trainer or model @state stepping @reenter none @owns caller's number @since 1.0 */
  loupe_status (*learning_rate)(void* context, double* rate, loupe_error* error);
} loupe_draft_optimizer_defaults_service;
