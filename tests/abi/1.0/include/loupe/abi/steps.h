/* Optimizers, their steps, and the ticks at which lenses report. */
#pragma once

#include <loupe/abi/options.h>
#include <loupe/abi/run.h>

enum {
  LOUPE_GROUP_HAS_LEARNING_RATE = 1u << 0, /* the optimizer says what it is; so for the next */
  LOUPE_GROUP_HAS_WEIGHT_DECAY = 1u << 1
};

typedef struct loupe_parameter_group {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_GROUP_ bits */
  double learning_rate;
  double weight_decay;
  size_t tensor_count;
  int64_t element_count;
  size_t unknown_tensor_count; /* those that no attached model has */
  int64_t unknown_element_count;
  /* All else that the optimizer says, under LibTorch's own names, numbers and flags as options: "momentum", "nesterov",
   * "alpha", "eps". A pair is two of them: "beta1" and "beta2". Null where it says nothing. */
  const loupe_options* settings;
} loupe_parameter_group;

typedef struct loupe_optimizer {
  uint32_t struct_size, reserved;
  uint64_t id;       /* unique within the inspector */
  const char* model; /* the name of the model it was attached with */
  const char* type;  /* "Adam" */
  const loupe_parameter_group* const* groups;
  size_t group_count;
} loupe_optimizer;

/* One step of an optimizer, told when it is done. */
typedef struct loupe_step {
  uint32_t struct_size, reserved;
  loupe_moment at;                  /* with this step */
  double epochs;                    /* how many the trainer's loop has; 0 when unknown */
  const loupe_optimizer* optimizer; /* whose step; null where the trainer told it by hand */
} loupe_step;

enum {
  LOUPE_TICK_EPOCH = 1,   /* the trainer said so, or its loop helper */
  LOUPE_TICK_STEPS = 2,   /* every n steps */
  LOUPE_TICK_SECONDS = 3, /* every n seconds */
  LOUPE_TICK_END = 4      /* the run ends with numbers that no tick has shown */
};
enum { LOUPE_TICK_INCOMPLETE = 1u << 0 /* the epoch, or the stretch of steps, was broken off */ };

/* The moment when lenses report. */
typedef struct loupe_tick {
  uint32_t struct_size;
  uint32_t reason; /* LOUPE_TICK_ */
  uint32_t flags;
  uint32_t reserved;
  uint64_t number;                          /* of the inspector's ticks, from 0 */
  loupe_moment at;                          /* its epoch is the one that is over */
  const loupe_optimizer* const* optimizers; /* all that are attached, as they are now */
  size_t optimizer_count;
} loupe_tick;
