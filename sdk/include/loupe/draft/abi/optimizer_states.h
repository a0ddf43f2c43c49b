/* A draft: it may change or go without notice. What optimizers keep of parameters from step to step. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_DRAFT_OPTIMIZER_STATES_ID "loupe.optimizer_states/draft-1"

/* `name`: the state's, as LibTorch has it: "momentum_buffer", "exp_avg", "step". */
/* @thread trainer or model @state within a call of lend @reenter none @owns borrows name and state @since 1.0 */
typedef void (*loupe_draft_take_state)(void* context, const char* name, const loupe_tensor* state);

/* Host service LOUPE_DRAFT_OPTIMIZER_STATES_ID. */
typedef struct loupe_draft_optimizer_state_service {
  uint32_t struct_size, reserved;
  /* While a lens is told of a step: calls `take` with each state that the optimizer which has just stepped keeps of
   * `parameter`, as loupe_parameter_service lends it; in the same order in every process. A state has the parameter's
   * shape and device, but for "step", which is an int64 of no dimensions on the CPU, and for those of LBFGS, which are
   * of all parameters together and kept with the first. Later steps write into the same memory, so that a state which
   * is retained shows what they left; not so "step" and LBFGS's, which are of this step. Waits for no device.
   * NOT_FOUND where it keeps none: plain SGD, another optimizer's parameter, a type that is not LibTorch's; and where
   * no step is told that a tap saw. */
  /* @thread trainer or model @state stepping @reenter take @owns borrows parameter @since 1.0 */
  loupe_status (*lend)(void* context, const loupe_tensor* parameter, loupe_draft_take_state take, void* take_context,
                       loupe_error* error);
} loupe_draft_optimizer_state_service;
