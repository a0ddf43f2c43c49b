/* Optimizers, their steps, and the ticks at which lenses report. */
#pragma once

#include <loupe/abi/modules.h>
#include <loupe/abi/options.h>
#include <loupe/abi/run.h>

enum {
  LOUPE_GROUP_HAS_LEARNING_RATE = 1u << 0, /* `learning_rate` is known; likewise for the next */
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
  size_t unknown_tensor_count; /* parameters that belong to no attached model */
  int64_t unknown_element_count;
  /* All other settings of the optimizer, numbers and flags, under LibTorch's names: "momentum", "nesterov", "alpha",
   * "eps". A pair becomes two: "beta1" and "beta2". Null if there are none. */
  const loupe_options* settings;
  /* Its parameters that belong to the optimizer's model, in the group's order; a visualizer gets none. */
  const loupe_held_parameter* const* parameters;
  size_t parameter_count;
} loupe_parameter_group;

typedef struct loupe_optimizer {
  uint32_t struct_size, reserved;
  uint64_t id;            /* unique within the inspector */
  const char* model_name; /* the name of the model that it trains: loupe_model's own_name */
  const char* type;       /* "Adam" */
  const loupe_parameter_group* const* groups;
  size_t group_count;
  const loupe_model* model; /* null for a visualizer, and if the host does not know it */
} loupe_optimizer;

enum { LOUPE_STEP_MEASURED = 1u << 0 /* taps reported everything in this step; without it, only pushes */ };

/* One step of an optimizer, reported after it. */
typedef struct loupe_step {
  uint32_t struct_size;
  uint32_t flags;                   /* LOUPE_STEP_ bits */
  loupe_moment at;                  /* including this step */
  double epochs;                    /* the length of the trainer's loop; 0 if unknown */
  const loupe_optimizer* optimizer; /* whose step it is; null if the trainer reported it by hand */
} loupe_step;

enum {
  LOUPE_TICK_EPOCH = 1,   /* ended by the trainer or its loop helper */
  LOUPE_TICK_STEPS = 2,   /* every n steps */
  LOUPE_TICK_SECONDS = 3, /* every n seconds */
  LOUPE_TICK_END = 4      /* the run ends, with numbers that no tick has shown */
};
enum { LOUPE_TICK_INCOMPLETE = 1u << 0 /* the epoch, or interval of steps, was cut short */ };

/* The moment when lenses report. */
typedef struct loupe_tick {
  uint32_t struct_size;
  uint32_t reason; /* LOUPE_TICK_ */
  uint32_t flags;
  uint32_t reserved;
  uint64_t number;                          /* counts the inspector's ticks, from 0 */
  loupe_moment at;                          /* its epoch is the one that has ended */
  const loupe_optimizer* const* optimizers; /* all that are attached, as they are now */
  size_t optimizer_count;
  uint64_t steps;          /* of the run's clock since the previous tick */
  uint64_t measured_steps; /* how many of them were measured; see LOUPE_STEP_MEASURED */
} loupe_tick;
