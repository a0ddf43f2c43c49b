/* The whole stable boundary between Loupe and its plugins. Plain C11; C++17 authors use loupe/plugin.h over it.
 *
 * Rules that hold everywhere:
 * - A plugin exports one symbol, `loupe_plugin_entry`. Everything else is asked for by an id with a revision.
 * - Every struct but the entry begins with `struct_size`, filled by whoever allocates it. A reader accepts any size
 * that covers the members it needs; a member beyond `struct_size`, or a null function pointer, means "not offered".
 * - Members are only ever appended. Arrays hold pointers, so that the structs they point at may grow.
 * - Strings are UTF-8, NUL-terminated and borrowed for the call. What a component or module descriptor points at lives
 * as long as the descriptor.
 * - No exception crosses. A call that can fail returns a status and, when not LOUPE_OK, writes one sentence into the
 *   caller's loupe_error.
 * - The line above each function is its contract and is checked by a test: @thread trainer (the one that attaches and
 *   ticks), event (any thread that runs the model; calls on one instance never overlap) or any; @state when it may be
 *   called; @owns who owns what passes; @since the ABI version that brought it.
 */
#ifndef LOUPE_ABI_H
#define LOUPE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_ABI_MAJOR 1u
#define LOUPE_ABI_MINOR 0u
#define LOUPE_MAGIC UINT64_C(0x004550554f4c0001) /* "LOUPE", then a byte that no text file begins with */

#if defined(_WIN32)
#define LOUPE_EXPORT __declspec(dllexport)
#else
#define LOUPE_EXPORT __attribute__((visibility("default")))
#endif

/* The ids that get_interface answers. An id is never renamed; a break gets a new revision. */
#define LOUPE_PLUGIN_ID "loupe.plugin/1"
#define LOUPE_GATHERER_ID "loupe.gatherer/1"
#define LOUPE_PREPROCESSOR_ID "loupe.preprocessor/1"
#define LOUPE_LENS_ID "loupe.lens/1"
#define LOUPE_VISUALIZER_ID "loupe.visualizer/1"
#define LOUPE_TENSORS_ID "loupe.tensors/1"

/* Whether a struct reaches up to a pointer and has it: to be asked before whatever is optional, or newer than 1.0. */
#define LOUPE_OFFERS(STRUCT, MEMBER)                                                                 \
  ((STRUCT).struct_size >= (size_t)((const char*)(&(STRUCT).MEMBER + 1) - (const char*)&(STRUCT)) && \
   (STRUCT).MEMBER != NULL)

/* ---- Status and errors ---- */

typedef int32_t loupe_status;
enum {
  LOUPE_OK = 0,
  LOUPE_INVALID = 1,     /* an argument or option is wrong */
  LOUPE_NOT_FOUND = 2,   /* nothing has that name, or there is no data */
  LOUPE_UNSUPPORTED = 3, /* understood, but not offered here */
  LOUPE_FAILED = 4       /* anything else; the message says what */
};

typedef struct loupe_error {
  uint32_t struct_size;
  uint32_t capacity; /* bytes at `message`, the closing NUL included */
  char* message;     /* the caller's buffer; the callee writes one sentence, cut to fit */
} loupe_error;

enum { LOUPE_LOG_INFO = 0, LOUPE_LOG_WARNING = 1, LOUPE_LOG_ERROR = 2 };

/* ---- Options ---- */

enum {
  LOUPE_OPTION_BOOLEAN = 1,
  LOUPE_OPTION_INTEGER = 2,
  LOUPE_OPTION_NUMBER = 3,
  LOUPE_OPTION_STRING = 4,
  LOUPE_OPTION_STRINGS = 5, /* a list of strings; YAML's `none` is the empty list */
  LOUPE_OPTION_MAP = 6      /* named values, read by the component itself */
};

/* What a component declares of one option. Validation, `loupe describe` and the reference come from this table. */
typedef struct loupe_option {
  uint32_t struct_size;
  uint32_t type;
  const char* name;
  const char* default_value;  /* as YAML text, such as "true" or "[weight, bias]" */
  const char* help;           /* one line */
  double minimum, maximum;    /* inclusive; for numbers; -INFINITY and INFINITY where unbounded */
  const char* const* choices; /* for strings; null where anything goes */
  size_t choice_count;
  const char* names;      /* a string that names a component of this interface, such as LOUPE_GATHERER_ID; or null */
  const char* options_of; /* a map with the options of the component that this other option names; or null */
} loupe_option;

struct loupe_options;

typedef struct loupe_option_value {
  uint32_t struct_size;
  uint32_t type;
  const char* name;
  int64_t integer; /* a boolean is 0 or 1 */
  double number;   /* also filled for an integer */
  const char* string;
  const char* const* strings;
  size_t string_count;
  const struct loupe_options* map;
} loupe_option_value;

typedef struct loupe_options {
  uint32_t struct_size;
  uint32_t reserved;
  const loupe_option_value* const* values;
  size_t value_count;
} loupe_options;

/* ---- Tensors ---- */

enum {
  LOUPE_FLOAT32 = 1,
  LOUPE_FLOAT64 = 2,
  LOUPE_FLOAT16 = 3,
  LOUPE_BFLOAT16 = 4,
  LOUPE_INT8 = 5,
  LOUPE_INT16 = 6,
  LOUPE_INT32 = 7,
  LOUPE_INT64 = 8,
  LOUPE_UINT8 = 9,
  LOUPE_BOOL = 10,
  LOUPE_OTHER_DTYPE = 255
};
enum { LOUPE_CPU = 1, LOUPE_CUDA = 2, LOUPE_OTHER_DEVICE = 255 };

/* A borrowed, read-only view, valid for the call. To keep it, retain it (loupe_tensors). */
typedef struct loupe_tensor {
  uint32_t struct_size;
  uint32_t dtype;
  uint32_t device_type;
  int32_t device_index;
  const void* data;       /* null for an empty tensor; device memory unless LOUPE_CPU */
  const int64_t* sizes;   /* `dim` of them */
  const int64_t* strides; /* in elements */
  int64_t dim;
  int64_t numel;
  const void* native; /* const at::Tensor*, for those that include loupe/torch.h; may be null */
} loupe_tensor;

typedef struct loupe_retained loupe_retained;

/* Host service LOUPE_TENSORS_ID. */
typedef struct loupe_tensors {
  uint32_t struct_size;
  uint32_t reserved;
  /* @thread any @state always @owns caller releases the handle @since 1.0 */
  loupe_status (*retain)(void* host, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error);
  /* @thread any @state always @owns the handle ends @since 1.0 */
  void (*release)(void* host, loupe_retained* kept);
  /* @thread any @state always @owns the view lives as long as the handle @since 1.0 */
  const loupe_tensor* (*view)(void* host, const loupe_retained* kept);
  /* Copies every element, in row-major order, to `numel` doubles. Waits for a device: not for a hook. */
  /* @thread any @state always @owns caller's buffer @since 1.0 */
  loupe_status (*copy)(void* host, const loupe_tensor* tensor, double* values, loupe_error* error);
  /* The singular values of a matrix, largest first; count is min(rows, columns). More than two dimensions are flattened
   * from dim 1. Slow: for a tick, not for a hook. */
  /* @thread any @state always @owns caller's buffer of `capacity` doubles @since 1.0 */
  loupe_status (*singular_values)(void* host, const loupe_tensor* matrix, double* values, size_t capacity,
                                  size_t* count, loupe_error* error);
  /* A copy on the tensor's own device, where retain shares memory that a module may change later: of item `item` along
   * dimension 0, or of all when `item` is negative. Waits for no device. */
  /* @thread any @state always @owns caller releases the handle @since 1.0 */
  loupe_status (*clone)(void* host, const loupe_tensor* tensor, int64_t item, loupe_retained** kept,
                        loupe_error* error);
  /* Makes a clone, in place, the LOUPE_SUM, MEAN, MAX or MIN of `count` tensors folded so far and one more of the same
   * shape. Waits for no device. */
  /* @thread any @state always @owns borrows tensor @since 1.0 */
  loupe_status (*fold)(void* host, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation,
                       uint64_t count, loupe_error* error);
  /* Writes a file that C++'s and Python's torch.load read: a list of tensors, or the first alone. */
  /* @thread any @state always @owns borrows tensors and path @since 1.0 */
  loupe_status (*save)(void* host, const loupe_retained* const* tensors, size_t count, uint32_t as_list,
                       const char* path, loupe_error* error);
} loupe_tensors;

/* ---- Modules ---- */

enum {
  LOUPE_FAMILY_ACTIVATION = 1,
  LOUPE_FAMILY_DROPOUT = 2,
  LOUPE_FAMILY_LINEAR = 3,
  LOUPE_FAMILY_CONVOLUTION = 4,
  LOUPE_FAMILY_NORMALIZATION = 5,
  LOUPE_FAMILY_RECURRENT = 6,
  LOUPE_FAMILY_POOLING = 7,
  LOUPE_FAMILY_EMBEDDING = 8,
  LOUPE_FAMILY_ATTENTION = 9,
  LOUPE_FAMILY_LOSS = 10,
  LOUPE_FAMILY_PADDING = 11,
  LOUPE_FAMILY_OTHER = 0
};

enum {
  LOUPE_MODULE_ROOT = 1u << 0, /* the model itself */
  LOUPE_MODULE_LEAF = 1u << 1, /* no children, or cut here by `depth` */
  LOUPE_MODULE_FUNCTIONAL =
      1u << 2,                   /* not a module: a function such as torch::relu, named after the module before it */
  LOUPE_MODULE_TAPPED = 1u << 3, /* its forward is seen */
  LOUPE_MODULE_LOSS = 1u << 4    /* a loss module the trainer named, outside any model */
};

typedef struct loupe_parameter {
  uint32_t struct_size;
  uint32_t is_buffer; /* 1 for a buffer, such as running_mean */
  const char* name;   /* within its module: "weight" */
  int64_t dim;
  int64_t numel;
} loupe_parameter;

/* One module as lenses see it. Lives until the model is detached. */
typedef struct loupe_module {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t id; /* unique within the inspector */
  uint32_t family;
  uint32_t reserved;
  const char* name;                         /* to show: the path, after the model's name where several are attached */
  const char* path;                         /* within the model; "" for the model itself */
  const char* model;                        /* the model's own name; "" for a single, unnamed one */
  const char* type;                         /* "Linear" */
  const char* full_type;                    /* "torch::nn::LinearImpl" */
  const loupe_parameter* const* parameters; /* its own, not its children's; buffers last */
  size_t parameter_count;
} loupe_module;

/* ---- Events ---- */

enum {
  LOUPE_TAP_FORWARD_BEFORE = 1,     /* label: null, or an attribute whose value comes as the tensor */
  LOUPE_TAP_FORWARD = 2,            /* tensor: the first output; with a label, that attribute or parameter instead */
  LOUPE_TAP_OUTPUT_GRADIENT = 3,    /* tensor: gradient of the first output */
  LOUPE_TAP_INPUT_GRADIENT = 4,     /* tensor: gradient of the first input */
  LOUPE_TAP_PARAMETER_GRADIENT = 5, /* label: parameter; tensor: its gradient after accumulation */
  LOUPE_TAP_STEP_GRADIENT = 6,      /* label: parameter; tensor: its gradient as the optimizer is about to use it */
  LOUPE_TAP_OPTIMIZER_STEP = 7,     /* label: parameter; tensor: the parameter after the step */
  LOUPE_TAP_TICK = 8,               /* label: parameter; tensor: the parameter, once a tick */
  LOUPE_TAP_PUSH = 9                /* module: null; label: what was pushed; scalar: its value */
};

enum {
  LOUPE_EVENT_TRAINING = 1u << 0,     /* module->is_training(); for a pushed loss, said by the trainer */
  LOUPE_EVENT_GRAD_ENABLED = 1u << 1, /* gradients were being recorded */
  LOUPE_EVENT_DEFERRED = 1u << 2,     /* measured on a device, delivered at the tick; the tensor is gone */
  LOUPE_EVENT_LOSS = 1u << 3,         /* a pushed value that is the loss */
  LOUPE_EVENT_MEMORY = 1u << 4        /* a pushed value to be kept, not only folded */
};

/* What a preprocessor asks the host to measure, in one pass shared by all that ask. */
enum {
  LOUPE_MEASURE_SUMS = 1u << 0,     /* sum, sum_squares */
  LOUPE_MEASURE_EXTREMES = 1u << 1, /* minimum, maximum of the finite elements */
  LOUPE_MEASURE_ACTIVITY = 1u << 2, /* active_count, unit_count, dead_units */
  LOUPE_MEASURE_SAMPLES = 1u << 3,  /* sample_count, sample_norm_sum */
  LOUPE_MEASURE_PREVIOUS = 1u << 4, /* dot_previous, previous_sum_squares: the last event's tensor; implies SUMS */
  LOUPE_MEASURE_CHANGE = 1u << 5,   /* change_sum_squares: this tensor minus the last event's */
  LOUPE_MEASURE_CHANGE_PREVIOUS = 1u << 6, /* dot_change, previous_change_sum_squares; implies CHANGE */
  LOUPE_MEASURE_HISTOGRAM = 1u << 7        /* bins: counts by magnitude */
};

enum { LOUPE_PASS_TRAINING = 1, LOUPE_PASS_EVALUATION = 2, LOUPE_PASS_BOTH = 3 };

/* Filled by a preprocessor once, before the first event. */
typedef struct loupe_request {
  uint32_t struct_size;
  uint32_t measures;     /* LOUPE_MEASURE_ bits */
  uint32_t passes;       /* which events it wants; others cost nothing */
  uint32_t pass_by_grad; /* 1: a pass is evaluation when gradients are off; 0: when the module is in eval mode */
  uint32_t wants_tensor; /* 1: events come at once, with their tensors, also on a device (then unmeasured) */
  int32_t
      unit_dimension; /* ACTIVITY: the dimension that counts units; negative from the end; clamped to what is there */
  double epsilon;     /* ACTIVITY: an element is active if abs(x) > epsilon */
} loupe_request;

#define LOUPE_HISTOGRAM_BINS 162 /* see loupe_measurement.bins */

typedef struct loupe_measurement {
  uint32_t struct_size;
  uint32_t measures; /* which of the members below are filled */
  int64_t numel;
  int64_t nan_count; /* with every measure but none; where it or inf_count is not 0, sums cover the finite elements */
  int64_t inf_count;
  double sum;
  double sum_squares;
  double minimum;
  double maximum;
  int64_t active_count; /* elements with abs(x) > epsilon; NaN and Inf count as active */
  int64_t unit_count;
  int64_t dead_units; /* units without an active element in the whole event */
  int64_t sample_count;
  double sample_norm_sum; /* sum over dim 0 of each sample's L2 norm */
  int64_t has_previous;   /* 0 at the first event of a stream */
  double dot_previous;
  double previous_sum_squares;
  int64_t has_change; /* 0 until there is a last value */
  double change_sum_squares;
  double dot_change;                  /* this change times the one before; 0 at the first */
  double previous_change_sum_squares; /* 0 at the first */
  /* [0] zeros and subnormals; then 80 bins of negative and 80 of positive magnitudes, a factor of 2 each, from 2^-40 to
   * 2^40, the first and last open-ended; [161] NaN and Inf. Valid for the call. */
  const uint64_t* bins;
} loupe_measurement;

typedef struct loupe_event {
  uint32_t struct_size;
  uint32_t tap;
  uint32_t flags;
  uint32_t reserved;
  const loupe_module* module; /* null for a push */
  const char* label;
  const loupe_tensor* tensor;           /* null for a push and for a deferred event */
  const loupe_measurement* measurement; /* what was requested; null for a push */
  double scalar;
  uint64_t number;                   /* of this stream's events, from 0 */
  const loupe_tensor* const* inputs; /* FORWARD taps, where a preprocessor wants tensors */
  size_t input_count;
  const loupe_tensor* const* outputs;
  size_t output_count;
} loupe_event;

/* ---- Components ---- */

struct loupe_host;

/* Handed to create; lives as long as the process. */
typedef struct loupe_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  const char* version; /* Loupe's */
  void* context;       /* first argument of every host service */
  /* @thread any @state always @owns borrows message @since 1.0 */
  void (*log)(void* host, int32_t level, const char* message);
  /* Null for an id that this host does not offer. */
  /* @thread any @state always @owns host owns the table @since 1.0 */
  const void* (*get_interface)(void* host, const char* id);
} loupe_host;

/* What a gatherer may do with the module it was opened on. */
typedef struct loupe_taps {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* Asks for a tap's events; label as the tap says, else null. NOT_FOUND when the module has no such parameter. */
  /* @thread trainer @state open @owns borrows label @since 1.0 */
  loupe_status (*subscribe)(void* taps, uint32_t tap, const char* label, loupe_error* error);
  /* Hands an event (the one received, or one of its own making) to the preprocessors behind this gatherer. */
  /* @thread event @state open @owns borrows event @since 1.0 */
  loupe_status (*emit)(void* taps, const loupe_event* event, loupe_error* error);
} loupe_taps;

/* LOUPE_GATHERER_ID: subscribes to taps of one module and hands the data to preprocessors. */
typedef struct loupe_gatherer {
  uint32_t struct_size;
  uint32_t reserved;
  /* module is null for the inspector's own stream of pushed values; label is the parameter or attribute asked for. */
  /* @thread trainer @state created @owns taps and module outlive the gatherer @since 1.0 */
  loupe_status (*open)(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                       loupe_error* error);
  /* @thread event @state open @owns borrows event @since 1.0 */
  loupe_status (*event)(void* self, const loupe_event* event, loupe_error* error);
} loupe_gatherer;

/* The ways to make one number of a series. */
enum {
  LOUPE_MEAN = 1,
  LOUPE_MEDIAN = 2,
  LOUPE_MAX = 3,
  LOUPE_MIN = 4,
  LOUPE_Q1 = 5,
  LOUPE_Q3 = 6,
  LOUPE_IQR = 7,
  LOUPE_STD = 8, /* of the population */
  LOUPE_COUNT = 9,
  LOUPE_SUM = 10,
  LOUPE_LAST = 11,
  LOUPE_NAN_COUNT = 12,
  LOUPE_INF_COUNT = 13
};

/* LOUPE_PREPROCESSOR_ID: turns the events of one stream into numbers and folds them over an epoch. */
typedef struct loupe_preprocessor {
  uint32_t struct_size;
  uint32_t reserved;
  /* @thread trainer @state created @owns host's struct, prefilled with defaults @since 1.0 */
  loupe_status (*request)(void* self, loupe_request* request, loupe_error* error);
  /* @thread event @state open @owns borrows event @since 1.0 */
  loupe_status (*process)(void* self, const loupe_event* event, loupe_error* error);
  /* The number of series; may grow as events come. */
  /* @thread trainer @state open @owns nothing @since 1.0 */
  size_t (*series_count)(void* self);
  /* @thread trainer @state open @owns component's string, until reset @since 1.0 */
  const char* (*series_name)(void* self, size_t series);
  /* NOT_FOUND when the series is empty; UNSUPPORTED for a quantile nobody asked to keep. */
  /* @thread trainer @state open @owns nothing @since 1.0 */
  loupe_status (*aggregate)(void* self, size_t series, uint32_t aggregation, double* value, loupe_error* error);
  /* Every value since the last reset, where they are kept; UNSUPPORTED where they are only folded. */
  /* @thread trainer @state open @owns component's array, until reset @since 1.0 */
  loupe_status (*values)(void* self, size_t series, const double** values, size_t* count, loupe_error* error);
  /* The epoch is over: forget its numbers, keep what spans epochs. */
  /* @thread trainer @state open @owns nothing @since 1.0 */
  void (*reset)(void* self);
} loupe_preprocessor;

typedef struct loupe_source loupe_source;

/* One stream that a lens wants: gatherer and preprocessor by name, or a preprocessor of the lens's own making. */
typedef struct loupe_watch {
  uint32_t struct_size;
  uint32_t reserved;
  const loupe_module* module; /* null for pushed values */
  const char* gatherer;
  const loupe_options* gatherer_options;     /* may be null */
  const char* label;                         /* parameter or attribute; null where the gatherer needs none */
  const char* preprocessor;                  /* null: the two members at the end */
  const loupe_options* preprocessor_options; /* may be null */
  const loupe_preprocessor* own_interface;
  void* own_preprocessor; /* the lens's; outlives the source */
} loupe_watch;

/* What a lens may do while it is attached. */
typedef struct loupe_wiring {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* @thread trainer @state visiting @owns the source lives until its module is forgotten, or with the lens @since 1.0
   */
  loupe_status (*watch)(void* wiring, const loupe_watch* watch, loupe_source** source, loupe_error* error);
  /* @thread trainer @state always @owns nothing @since 1.0 */
  size_t (*series_count)(void* wiring, loupe_source* source);
  /* @thread trainer @state always @owns source's string, until the tick ends @since 1.0 */
  const char* (*series_name)(void* wiring, loupe_source* source, size_t series);
  /* @thread trainer @state always @owns nothing @since 1.0 */
  loupe_status (*aggregate)(void* wiring, loupe_source* source, size_t series, uint32_t aggregation, double* value,
                            loupe_error* error);
  /* @thread trainer @state always @owns source's array, until the tick ends @since 1.0 */
  loupe_status (*values)(void* wiring, loupe_source* source, size_t series, const double** values, size_t* count,
                         loupe_error* error);
} loupe_wiring;

/* ---- What is shown ---- */

enum { LOUPE_TAG_NUMERICAL = 1, LOUPE_TAG_PROBABILITY = 2, LOUPE_TAG_RELATION = 3 };

typedef struct loupe_tag {
  uint32_t struct_size;
  uint32_t type;
  const char* name;  /* the plot's title: "Weight Gradient Norm" */
  uint32_t log_y;    /* 1: a logarithmic axis */
  uint32_t big;      /* 1: one plot for the whole model, not one a layer */
  uint32_t annotate; /* 1: label the lines at their ends */
  uint32_t reserved;
  double y_minimum, y_maximum; /* NaN: as the data wants */
} loupe_tag;

typedef struct loupe_value {
  uint32_t struct_size;
  uint32_t reserved;
  const char* tag;
  const char* layer; /* for a big plot, the tag's name */
  const char* line;  /* "mean" */
  double value;
} loupe_value;

typedef struct loupe_range {
  uint32_t struct_size;
  uint32_t reserved;
  const char* tag;
  const char* layer;
  const char* low_name; /* "min" */
  const char* high_name;
  double low, high;
} loupe_range;

typedef struct loupe_histogram {
  uint32_t struct_size;
  uint32_t reserved;
  const char* tag;
  const char* layer;
  const char* line;
  const double* edges; /* bin_count + 1, ascending; may be infinite at both ends */
  const double* counts;
  size_t bin_count;
} loupe_histogram;

typedef struct loupe_run {
  uint32_t struct_size;
  uint32_t resumed; /* 1: goes on in the same directory */
  const char* name;
  const char* directory; /* "" when the run keeps no files */
  const char* config;    /* the YAML as read */
  const char* loupe_version;
  const char* libtorch_version; /* "" without LibTorch */
  const char* models;           /* a JSON array: name, type, parameters, modules of each model */
  const char* started;          /* ISO 8601, UTC */
} loupe_run;

/* Where a lens reports. A tag is told before its first value. */
typedef struct loupe_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* @thread trainer @state introducing or reporting @owns borrows tag @since 1.0 */
  loupe_status (*tag)(void* sink, const loupe_tag* tag, loupe_error* error);
  /* @thread trainer @state reporting @owns borrows value @since 1.0 */
  loupe_status (*value)(void* sink, const loupe_value* value, loupe_error* error);
  /* @thread trainer @state reporting @owns borrows range @since 1.0 */
  loupe_status (*range)(void* sink, const loupe_range* range, loupe_error* error);
  /* @thread trainer @state reporting @owns borrows histogram @since 1.0 */
  loupe_status (*histogram)(void* sink, const loupe_histogram* histogram, loupe_error* error);
  const loupe_run* run; /* what is watched, for a lens that writes files of its own; null when that is unknown */
} loupe_sink;

/* LOUPE_LENS_ID: decides which modules to look at, and turns an epoch into tagged values. */
typedef struct loupe_lens {
  uint32_t struct_size;
  uint32_t reserved;
  /* Once, before the first module. */
  /* @thread trainer @state created @owns wiring outlives the lens @since 1.0 */
  loupe_status (*attach)(void* self, const loupe_wiring* wiring, loupe_error* error);
  /* Every module, parents before children; functions as they are first seen. */
  /* @thread trainer @state attached @owns module lives until forgotten @since 1.0 */
  loupe_status (*visit)(void* self, const loupe_module* module, loupe_error* error);
  /* The module is detached: its sources end with this call. */
  /* @thread trainer @state attached @owns nothing @since 1.0 */
  void (*forget)(void* self, const loupe_module* module);
  /* All tags known so far; called again for a visualizer that joins later. */
  /* @thread trainer @state attached @owns borrows sink @since 1.0 */
  loupe_status (*introduce)(void* self, const loupe_sink* sink, loupe_error* error);
  /* The epoch is over. Afterwards the host resets the lens's sources. */
  /* @thread trainer @state attached @owns borrows sink @since 1.0 */
  loupe_status (*report)(void* self, double epoch, const loupe_sink* sink, loupe_error* error);
  /* A number of the last report by a key of the lens's own, such as "train_loss median"; optional. */
  /* @thread trainer @state attached @owns nothing @since 1.0 */
  loupe_status (*query)(void* self, const char* key, double* value, loupe_error* error);
} loupe_lens;

typedef struct loupe_progress {
  uint32_t struct_size;
  uint32_t reserved;
  double epoch;          /* the one being trained */
  double epochs;         /* 0 when unknown */
  uint64_t steps;        /* optimizer steps since the last tick */
  uint64_t steps_before; /* in the epoch before; 0 when unknown */
  double seconds;        /* since the last tick */
} loupe_progress;

/* LOUPE_VISUALIZER_ID: receives tags and values, and shows or stores them. */
typedef struct loupe_visualizer {
  uint32_t struct_size;
  uint32_t reserved;
  /* @thread trainer @state created @owns borrows run @since 1.0 */
  loupe_status (*begin)(void* self, const loupe_run* run, loupe_error* error);
  /* @thread trainer @state begun @owns borrows tag @since 1.0 */
  loupe_status (*tag)(void* self, const loupe_tag* tag, loupe_error* error);
  /* @thread trainer @state begun @owns nothing @since 1.0 */
  loupe_status (*begin_tick)(void* self, double epoch, loupe_error* error);
  /* @thread trainer @state in a tick @owns borrows value @since 1.0 */
  loupe_status (*value)(void* self, const loupe_value* value, loupe_error* error);
  /* @thread trainer @state in a tick @owns borrows range @since 1.0 */
  loupe_status (*range)(void* self, const loupe_range* range, loupe_error* error);
  /* @thread trainer @state in a tick @owns borrows histogram @since 1.0 */
  loupe_status (*histogram)(void* self, const loupe_histogram* histogram, loupe_error* error);
  /* Everything up to here must be safe from a killed process when this returns. */
  /* @thread trainer @state in a tick @owns nothing @since 1.0 */
  loupe_status (*end_tick)(void* self, loupe_error* error);
  /* A few times a second while the model trains. */
  /* @thread trainer @state begun @owns borrows progress @since 1.0 */
  loupe_status (*progress)(void* self, const loupe_progress* progress, loupe_error* error);
  /* @thread trainer @state begun @owns nothing @since 1.0 */
  loupe_status (*end)(void* self, loupe_error* error);
} loupe_visualizer;

/* One component that a plugin offers. */
typedef struct loupe_component {
  uint32_t struct_size;
  uint32_t reserved;
  const char* interface_id; /* LOUPE_LENS_ID and so on */
  const char* name;         /* as YAML names it; snake_case */
  const char* help;         /* one line */
  const loupe_option* const* options;
  size_t option_count;
  const void* table; /* the loupe_lens, … that interface_id names */
  /* @thread trainer @state always @owns caller destroys the instance @since 1.0 */
  loupe_status (*create)(const loupe_host* host, const loupe_options* options, void** self, loupe_error* error);
  /* Never called from an event. */
  /* @thread trainer @state created @owns the instance ends @since 1.0 */
  void (*destroy)(void* self);
  const char* const* aliases; /* other names that YAML accepts */
  size_t alias_count;
} loupe_component;

/* LOUPE_PLUGIN_ID. */
typedef struct loupe_plugin {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const char* version;
  const loupe_component* const* components;
  size_t component_count;
} loupe_plugin;

/* The bootstrap. Frozen for good: never a member more, never one less. */
typedef struct loupe_entry {
  uint64_t magic; /* LOUPE_MAGIC */
  uint32_t abi_major;
  uint32_t abi_minor;
  /* Null for an id that the plugin does not offer. */
  /* @thread trainer @state always @owns plugin owns the table, for good @since 1.0 */
  const void* (*get_interface)(const char* id);
} loupe_entry;

/* What a plugin exports, under the name that the macro gives. */
#define LOUPE_ENTRY_SYMBOL "loupe_plugin_entry"

#ifdef __cplusplus
}
#endif

#endif
