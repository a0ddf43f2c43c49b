/* Optimizers, their steps, and the ticks at which lenses report. */
#pragma once

#include <loupe/abi/modules.h>
#include <loupe/abi/options.h>
#include <loupe/abi/run.h>

enum {
  LOUPE_GROUP_HAS_LEARNING_RATE = 1u << 0, /* the optimizer says what it is; so for the next */
  LOUPE_GROUP_HAS_WEIGHT_DECAY = 1u << 1
};

/* A parameter that an optimizer holds. */
typedef struct loupe_held_parameter {
  uint32_t struct_size, reserved;
  const loupe_module* module;
  size_t index; /* in the module's parameters */
} loupe_held_parameter;

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
  /* Those of its parameters that the optimizer's model has, in the group's order; none in what a visualizer is told. */
  const loupe_held_parameter* const* parameters;
  size_t parameter_count;
} loupe_parameter_group;

typedef struct loupe_optimizer {
  uint32_t struct_size, reserved;
  uint64_t id;            /* unique within the inspector */
  const char* model_name; /* that the model was attached under, which it trains: loupe_model's own_name */
  const char* type;       /* "Adam" */
  const loupe_parameter_group* const* groups;
  size_t group_count;
  const loupe_model* model; /* null in what a visualizer is told, and where the host does not know */
} loupe_optimizer;

enum { LOUPE_STEP_MEASURED = 1u << 0 /* taps told of all that led to it; without it, of pushes alone */ };

/* One step of an optimizer, told when it is done. */
typedef struct loupe_step {
  uint32_t struct_size;
  uint32_t flags;                   /* LOUPE_STEP_ bits */
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
  uint64_t steps;          /* of the run's clock since the tick before */
  uint64_t measured_steps; /* of these, how many taps told of; see LOUPE_STEP_MEASURED */
} loupe_tick;
