/* Events: what taps report, and what the host measures for them. */
#pragma once

#include <loupe/abi/modules.h>

enum {
  LOUPE_TAP_FORWARD_BEFORE = 1,     /* tensor: an input, as the forward is entered */
  LOUPE_TAP_FORWARD = 2,            /* tensor: an output */
  LOUPE_TAP_OUTPUT_GRADIENT = 3,    /* tensor: gradient of an output */
  LOUPE_TAP_INPUT_GRADIENT = 4,     /* tensor: gradient of an input */
  LOUPE_TAP_PARAMETER_GRADIENT = 5, /* label: parameter; tensor: its gradient after accumulation */
  LOUPE_TAP_STEP_GRADIENT = 6,      /* label: parameter; tensor: its gradient as the optimizer is about to use it */
  LOUPE_TAP_OPTIMIZER_STEP = 7,     /* label: parameter; tensor: the parameter after the step */
  LOUPE_TAP_TICK = 8,               /* label: parameter; tensor: the parameter, once a tick */
  LOUPE_TAP_PUSH = 9,               /* module: null; label: what was pushed; scalar: its value */
  LOUPE_TAP_ATTRIBUTE_BEFORE = 10,  /* label: attribute or parameter; tensor: it, as the forward is entered, or null */
  LOUPE_TAP_ATTRIBUTE = 11,         /* the same as the forward is left */
  LOUPE_TAP_DRAFTS = 0x80           /* this and all above are left to drafts */
};

enum {
  LOUPE_EVENT_TRAINING = 1u << 0,     /* module->is_training(); for a pushed loss, said by the trainer */
  LOUPE_EVENT_GRAD_ENABLED = 1u << 1, /* gradients were being recorded */
  LOUPE_EVENT_DEFERRED = 1u << 2,     /* measured on a device, delivered at the tick; the tensor is gone */
  LOUPE_EVENT_LOSS = 1u << 3,         /* a pushed value that is the loss */
  LOUPE_EVENT_MEMORY = 1u << 4,       /* a pushed value to keep, not only to fold */
  LOUPE_EVENT_SPARSE = 1u << 5        /* tensor: the values that a sparse one has; see LOUPE_REQUEST_SPARSE */
};
#define LOUPE_EVENT_DRAFTS 0xFFFF0000u /* left to drafts */

/* What a preprocessor asks the host to measure, in one pass shared by all that ask. Read only the members that
 * `loupe_measurement.measures` names. */
enum {
  LOUPE_MEASURE_SUMS = 1u << 0,     /* sum, sum_squares */
  LOUPE_MEASURE_EXTREMES = 1u << 1, /* minimum, maximum of the finite elements */
  LOUPE_MEASURE_ACTIVITY = 1u << 2, /* active_count, unit_count, dead_unit_count */
  LOUPE_MEASURE_SAMPLES = 1u << 3,  /* sample_count, sample_norm_sum */
  LOUPE_MEASURE_PREVIOUS = 1u << 4, /* dot_previous, previous_sum_squares: the last event's tensor; implies SUMS */
  LOUPE_MEASURE_CHANGE = 1u << 5,   /* change_sum_squares: this tensor minus the last event's */
  LOUPE_MEASURE_CHANGE_PREVIOUS = 1u << 6, /* dot_change, previous_change_sum_squares; implies CHANGE */
  LOUPE_MEASURE_HISTOGRAM = 1u << 7        /* bins: counts by magnitude */
};
#define LOUPE_MEASURE_DRAFTS 0xFFFF0000u /* left to drafts */

enum { LOUPE_PASS_TRAINING = 1, LOUPE_PASS_EVALUATION = 2, LOUPE_PASS_BOTH = 3 };

/* Where a tensor is: in the CPU's memory, or on a device. An event without a tensor counts as CPU. */
enum { LOUPE_PLACE_CPU = 1, LOUPE_PLACE_DEVICE = 2, LOUPE_PLACE_BOTH = 3 };

enum {
  LOUPE_REQUEST_TENSORS = 1u << 0, /* events come at once, with their tensors, also on a device (then unmeasured) */
  LOUPE_REQUEST_PASS_BY_GRADIENT = 1u << 1, /* gradients off make a pass evaluation; without it, eval mode does */
  LOUPE_REQUEST_UNITS = 1u << 2,            /* unit_dimension and eps are given */
  /* Also send events of sparse tensors, for example an embedding's gradient: with LOUPE_EVENT_SPARSE, and the tensor's
   * values in its place, one row for each index; these are measured. Without it, such events are not sent. No tensor is
   * made dense. Cannot be combined with a measure that compares with the previous event. */
  LOUPE_REQUEST_SPARSE = 1u << 3
};

/* Filled by a preprocessor once, before the first event. It is zero except for its size, and may stay so: then events
 * come without a measurement, from all passes and places, for strided tensors. */
typedef struct loupe_request {
  uint32_t struct_size;
  uint32_t flags;    /* LOUPE_REQUEST_ bits */
  uint32_t measures; /* LOUPE_MEASURE_ bits */
  uint32_t passes;   /* LOUPE_PASS_: the passes it wants, 0 for both; other events cost nothing */
  uint32_t places;   /* LOUPE_PLACE_: the places it wants, 0 for both; other events cost nothing */
  /* For ACTIVITY; read only with LOUPE_REQUEST_UNITS, otherwise 1 and 1e-8. The dimension that counts units, negative
   * from the end, clamped to those that exist; an element is active if abs(x) > eps. */
  int32_t unit_dimension;
  double eps;
} loupe_request;

enum {
  /* The comparison with earlier events used a sample of the elements. Its sums, dot_previous to
   * previous_change_sum_squares, are scaled to the whole tensor, so they are estimates. */
  LOUPE_MEASUREMENT_SAMPLED = 1u << 0,
  LOUPE_MEASUREMENT_HAS_PREVIOUS = 1u << 1, /* there is a previous event: dot_previous, previous_sum_squares */
  LOUPE_MEASUREMENT_HAS_CHANGE = 1u << 2    /* there is a previous value: change_sum_squares and the members after it */
};

typedef struct loupe_measurement {
  uint32_t struct_size;
  uint32_t measures; /* which of the members below are filled */
  uint32_t flags;    /* LOUPE_MEASUREMENT_ bits */
  uint32_t reserved;
  int64_t numel;
  int64_t nan_count; /* filled with any measure; if it or inf_count is not 0, sums cover the finite elements */
  int64_t inf_count;
  double sum;
  double sum_squares;
  double minimum;
  double maximum;
  int64_t active_count; /* elements with abs(x) > eps; NaN and Inf count as active */
  int64_t unit_count;
  int64_t dead_unit_count; /* units without an active element in the whole event */
  int64_t sample_count;
  double sample_norm_sum; /* sum over dim 0 of each sample's L2 norm */
  double dot_previous;
  double previous_sum_squares;
  double change_sum_squares;
  double dot_change;                  /* this change times the previous one; 0 at the first */
  double previous_change_sum_squares; /* 0 at the first */
  /* Counts of the finite elements between `bin_count` + 1 ascending edges, infinite at both ends; one bin around 0
   * holds zeros and subnormals. NaN and Inf are in nan_count and inf_count. Valid for the call. */
  const uint64_t* bins;
  const double* bin_edges;
  size_t bin_count;
} loupe_measurement;

typedef struct loupe_event {
  uint32_t struct_size;
  uint32_t tap;
  uint32_t flags;
  uint32_t index;                       /* which of the outputs or inputs `tensor` is of */
  const loupe_module* module;           /* null for a push */
  const char* label;                    /* null if the tap has none */
  uint64_t number;                      /* of this stream's events, from 0 */
  uint64_t step;                        /* steps of the run's clock before this event, also of a deferred one */
  const loupe_tensor* tensor;           /* null for a push and for a deferred event */
  const loupe_measurement* measurement; /* what was requested; null for a push */
  double scalar;
  const loupe_tensor* const* inputs; /* FORWARD taps, where a preprocessor wants tensors */
  size_t input_count;
  const loupe_tensor* const* outputs;
  size_t output_count;
} loupe_event;
