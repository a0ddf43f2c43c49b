/* The whole stable boundary between Loupe and its plugins. Plain C11; C++17 authors use loupe/plugin.h over it.
 *
 * Rules that hold everywhere:
 * - A plugin exports one symbol, `loupe_plugin_entry`. Everything else is asked for by an id with a revision.
 * - Every struct but the entry begins with `struct_size`, filled by whoever allocates it. A reader accepts any size
 *   that covers the members it needs and never demands equality.
 * - It grows only by members at the end. A member beyond `struct_size` is absent; absent means zero, and zero means the
 *   default, "none" or "not offered". Arrays hold pointers, so that the structs they point at may grow.
 * - Enumerations grow too. Whoever meets a value that they do not know treats it as "other" and passes over what they
 *   cannot read; unknown bits of a set of flags are ignored. `reserved` is 0.
 * - Strings are UTF-8 (the host makes them so, whatever a model's names hold), NUL-terminated and borrowed for the
 * call. What a component or module points at lives as long as it does.
 * - No exception crosses. A call that can fail returns a status and, when not LOUPE_OK, writes one sentence into the
 *   caller's loupe_error.
 * - The line above each function is its contract and is checked by a test, and at run time under LOUPE_CHECK=strict:
 *   @thread serial (the trainer's side: of all serial calls of one inspector never two at a time, mostly on the thread
 *   that ticks; visits of functions and steps come on the one that runs the model), event (any thread that runs the
 *   model; calls on one instance never overlap) or any; @state when it may be called; @owns who owns what passes;
 *   @since the ABI version that brought it.
 * - A component is created, used and destroyed; destroy is the last call. After a call that failed it may still get
 *   any call but `process` and `event`.
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
/* The services that a host may offer. */
#define LOUPE_TENSORS_ID "loupe.tensors/1"
#define LOUPE_TENSOR_MATH_ID "loupe.tensor_math/1"
#define LOUPE_TENSOR_FILES_ID "loupe.tensor_files/1"
#define LOUPE_DLPACK_ID "loupe.dlpack/1"
#define LOUPE_FINDINGS_ID "loupe.findings/1"
#define LOUPE_RUN_ID "loupe.run/1"
#define LOUPE_PARAMETERS_ID "loupe.parameters/1"

/* Whether a struct reaches up to the end of a member: to be asked before whatever is newer than 1.0. */
#define LOUPE_REACHES(STRUCT, MEMBER) \
  ((STRUCT).struct_size >= (size_t)((const char*)(&(STRUCT).MEMBER + 1) - (const char*)&(STRUCT)))
/* The same for a pointer, which must not be null either: to be asked before whatever is optional. */
#define LOUPE_OFFERS(STRUCT, MEMBER) (LOUPE_REACHES(STRUCT, MEMBER) && (STRUCT).MEMBER != NULL)

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

enum { LOUPE_OPTION_REQUIRED = 1u << 0 /* must be given; has no default */ };

/* What a component declares of one option. Validation, `loupe describe` and the reference come from this table. */
typedef struct loupe_option {
  uint32_t struct_size;
  uint32_t type;
  const char* name;
  const char* help;                        /* one line */
  const loupe_option_value* default_value; /* of the same type; its name is not read; null: false, 0, "" or empty */
  double minimum, maximum;                 /* inclusive; for numbers; -INFINITY and INFINITY where unbounded */
  const char* const* choices;              /* for strings; null where anything goes */
  size_t choice_count;
  const char* names;      /* a string that names a component of this interface, such as LOUPE_GATHERER_ID; or null */
  const char* options_of; /* a map with the options of the component that this other option names; or null */
  uint32_t flags;         /* LOUPE_OPTION_REQUIRED */
  uint32_t reserved;
} loupe_option;

/* ---- Tensors ---- */

/* Element types and devices are DLPack's: float32 is (LOUPE_DTYPE_FLOAT, 32, 1), bool (LOUPE_DTYPE_BOOL, 8, 1). Codes
 * that are not listed here (float8, …) are DLPack's too; an inspector cannot measure them and says so once. */
enum {
  LOUPE_DTYPE_INT = 0,
  LOUPE_DTYPE_UINT = 1,
  LOUPE_DTYPE_FLOAT = 2,
  LOUPE_DTYPE_OPAQUE = 3, /* an element type that DLPack has no code for */
  LOUPE_DTYPE_BFLOAT = 4,
  LOUPE_DTYPE_COMPLEX = 5,
  LOUPE_DTYPE_BOOL = 6,
  LOUPE_DTYPE_FLOAT8_E4M3FN = 10,
  LOUPE_DTYPE_FLOAT8_E4M3FNUZ = 11,
  LOUPE_DTYPE_FLOAT8_E5M2 = 12,
  LOUPE_DTYPE_FLOAT8_E5M2FNUZ = 13
};
enum { LOUPE_DEVICE_CPU = 1, LOUPE_DEVICE_CUDA = 2, LOUPE_DEVICE_METAL = 8, LOUPE_DEVICE_ROCM = 10 };

/* Whose object `loupe_tensor.native` is. Of one library there is one in a process, so its address tells it. */
typedef struct loupe_native_library {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;     /* "libtorch" */
  const char* version;  /* as its headers say: "2.6.0" */
  const void* identity; /* an address in that very library; see loupe/torch.h */
} loupe_native_library;

/* A borrowed, read-only view, valid for the call. To keep it, retain it (loupe_tensors).
 *
 * Streams: a device tensor's data is valid in the order of `stream` alone, the one current on the thread of the call.
 * Work that is enqueued there during the call sees it. Whoever uses another stream, or the host's side, makes that wait
 * for this one. To retain keeps the memory from being reused, and waits for nothing. */
typedef struct loupe_tensor {
  uint32_t struct_size;
  uint8_t dtype_code;     /* LOUPE_DTYPE_ */
  uint8_t dtype_bits;     /* of one lane */
  uint16_t dtype_lanes;   /* 1 but for packed types */
  int32_t device_type;    /* LOUPE_DEVICE_ */
  int32_t device_id;      /* 0 for the CPU */
  const void* data;       /* null for an empty tensor; device memory unless LOUPE_DEVICE_CPU */
  const int64_t* sizes;   /* `dim` of them */
  const int64_t* strides; /* in elements */
  int64_t dim;
  int64_t numel;
  const void* native;                         /* const at::Tensor*, for those that include loupe/torch.h; may be null */
  const loupe_native_library* native_library; /* whose `native` is; null with it */
  void* stream; /* the device's own handle, such as a cudaStream_t; null: its default stream, or unknown to the host */
} loupe_tensor;

typedef struct loupe_retained loupe_retained;

/* Host service LOUPE_TENSORS_ID. */
typedef struct loupe_tensors {
  uint32_t struct_size;
  uint32_t reserved;
  /* Shares the memory, which a module may change later. */
  /* @thread any @state always @owns caller releases the handle @since 1.0 */
  loupe_status (*retain)(void* host, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error);
  /* @thread any @state always @owns the handle ends @since 1.0 */
  void (*release)(void* host, loupe_retained* kept);
  /* @thread any @state always @owns the view lives as long as the handle @since 1.0 */
  const loupe_tensor* (*view)(void* host, const loupe_retained* kept);
  /* A copy on the tensor's own device: of item `item` along dimension 0, or of all when `item` is negative. Waits for
   * no device. */
  /* @thread any @state always @owns caller releases the handle @since 1.0 */
  loupe_status (*clone)(void* host, const loupe_tensor* tensor, int64_t item, loupe_retained** kept,
                        loupe_error* error);
  /* Copies every element, in row-major order, to `numel` doubles. Waits for a device: not for a hook. */
  /* @thread any @state always @owns caller's buffer @since 1.0 */
  loupe_status (*copy)(void* host, const loupe_tensor* tensor, double* values, loupe_error* error);
} loupe_tensors;

/* Host service LOUPE_TENSOR_MATH_ID. */
typedef struct loupe_tensor_math {
  uint32_t struct_size;
  uint32_t reserved;
  /* The singular values of a matrix, largest first; count is min(rows, columns). More than two dimensions are flattened
   * from dim 1. Slow: for a tick, not for a hook. */
  /* @thread any @state always @owns caller's buffer of `capacity` doubles @since 1.0 */
  loupe_status (*singular_values)(void* host, const loupe_tensor* matrix, double* values, size_t capacity,
                                  size_t* count, loupe_error* error);
  /* Makes a clone, in place, the LOUPE_SUM, MEAN, MAX or MIN of `count` tensors folded so far and one more of the same
   * shape. Waits for no device. */
  /* @thread any @state always @owns borrows tensor @since 1.0 */
  loupe_status (*fold)(void* host, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation,
                       uint64_t count, loupe_error* error);
} loupe_tensor_math;

/* Host service LOUPE_TENSOR_FILES_ID. */
typedef struct loupe_tensor_files {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writes a file that C++'s and Python's torch.load read: a list of tensors, or the first alone. */
  /* @thread any @state always @owns borrows tensors and path @since 1.0 */
  loupe_status (*save)(void* host, const loupe_retained* const* tensors, size_t count, uint32_t as_list,
                       const char* path, loupe_error* error);
} loupe_tensor_files;

/* Host service LOUPE_DLPACK_ID. */
typedef struct loupe_dlpack {
  uint32_t struct_size;
  uint32_t reserved;
  /* Fills a DLTensor of DLPack's own header, which is the caller's and of `size` bytes, with a borrowed view of the
   * same memory: valid as long as `tensor` is, in the order of `tensor`'s stream, and not to be written to. UNSUPPORTED
   * where DLPack has no such type or device. */
  /* @thread any @state always @owns caller's struct, which borrows from tensor @since 1.0 */
  loupe_status (*lend)(void* host, const loupe_tensor* tensor, void* dl_tensor, size_t size, loupe_error* error);
} loupe_dlpack;

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
  LOUPE_MODULE_LOSS = 1u << 4,   /* a loss module the trainer named, outside any model */
  LOUPE_MODULE_UNREGISTERED = 1u << 5 /* runs in a model that has not registered it: its parameters are never trained */
};

enum {
  LOUPE_PARAMETER_BUFFER = 1u << 0,    /* a buffer, such as running_mean */
  LOUPE_PARAMETER_TRAINABLE = 1u << 1, /* requires a gradient */
  LOUPE_PARAMETER_OPTIMIZED = 1u << 2, /* an attached optimizer holds it */
  LOUPE_PARAMETER_GRADIENT = 1u << 3,  /* had a gradient at the last step of an optimizer of its model */
  LOUPE_PARAMETER_CHANGED = 1u << 4    /* its values are others than at the tick before, as a sample of them shows */
};

/* The flags are kept up to date: as of the last step or tick. */
typedef struct loupe_parameter {
  uint32_t struct_size;
  uint32_t flags;
  const char* name; /* within its module: "weight" */
  int64_t dim;
  int64_t numel;
  const int64_t* sizes; /* `dim` of them */
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

/* A model as it is attached. */
typedef struct loupe_model {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name; /* to show */
  const char* type; /* "torch::nn::SequentialImpl" */
  int64_t parameter_elements;
  const loupe_module* const* modules; /* parents before children */
  size_t module_count;
} loupe_model;

/* ---- Optimizers, steps, ticks ---- */

typedef struct loupe_parameter_group {
  uint32_t struct_size;
  uint32_t reserved;
  double learning_rate; /* NaN where the optimizer does not say; so for the others */
  double momentum;      /* Adam's is its first beta */
  double weight_decay;
  uint64_t tensor_count;
  int64_t element_count;
  uint64_t unknown_tensor_count; /* those that no attached model has */
  int64_t unknown_element_count;
} loupe_parameter_group;

typedef struct loupe_optimizer {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t id;       /* unique within the inspector */
  const char* model; /* the name of the model it was attached with */
  const char* type;  /* "Adam" */
  const loupe_parameter_group* const* groups;
  size_t group_count;
} loupe_optimizer;

/* One step of an optimizer, told when it is done. */
typedef struct loupe_step {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t number; /* steps of the run's clock so far, this one included; the first attached optimizer's unless told */
  double epoch;    /* the one being trained */
  double time;     /* seconds since 1970, UTC */
  double elapsed;  /* seconds since the run's start */
  const loupe_optimizer* optimizer; /* whose step; null where the trainer told it by hand */
  double epochs;                    /* how many the trainer's loop has; 0 when unknown */
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
  double epoch;                             /* the one that is over; may be a fraction */
  uint64_t step;                            /* steps of the run's clock so far */
  double time;                              /* seconds since 1970, UTC */
  double elapsed;                           /* seconds since the run's start */
  const loupe_optimizer* const* optimizers; /* all that are attached, as they are now */
  size_t optimizer_count;
} loupe_tick;

/* ---- Events ---- */

enum {
  LOUPE_TAP_FORWARD_BEFORE = 1,     /* label: null, or an attribute whose value comes as the tensor */
  LOUPE_TAP_FORWARD = 2,            /* tensor: an output; with a label, that attribute or parameter instead */
  LOUPE_TAP_OUTPUT_GRADIENT = 3,    /* tensor: gradient of an output */
  LOUPE_TAP_INPUT_GRADIENT = 4,     /* tensor: gradient of an input */
  LOUPE_TAP_PARAMETER_GRADIENT = 5, /* label: parameter; tensor: its gradient after accumulation */
  LOUPE_TAP_STEP_GRADIENT = 6,      /* label: parameter; tensor: its gradient as the optimizer is about to use it */
  LOUPE_TAP_OPTIMIZER_STEP = 7,     /* label: parameter; tensor: the parameter after the step */
  LOUPE_TAP_TICK = 8,               /* label: parameter; tensor: the parameter, once a tick */
  LOUPE_TAP_PUSH = 9,               /* module: null; label: what was pushed; scalar: its value */
  LOUPE_TAP_INPUT = 10,             /* tensor: the first input, as the forward is entered */
  LOUPE_TAP_LOSS_INPUT = 11         /* of a model's root; tensor: what its cross entropy was given as scores */
};

enum {
  LOUPE_EVENT_TRAINING = 1u << 0,     /* module->is_training(); for a pushed loss, said by the trainer */
  LOUPE_EVENT_GRAD_ENABLED = 1u << 1, /* gradients were being recorded */
  LOUPE_EVENT_DEFERRED = 1u << 2,     /* measured on a device, delivered at the tick; the tensor is gone */
  LOUPE_EVENT_LOSS = 1u << 3,         /* a pushed value that is the loss */
  LOUPE_EVENT_MEMORY = 1u << 4,       /* a pushed value to be kept, not only folded */
  LOUPE_EVENT_NOT_CLEARED = 1u << 5,  /* OPTIMIZER_STEP: the gradient still held that of the step before */
  LOUPE_EVENT_DROPS = 1u << 6         /* a dropout function that was told to drop, whatever mode the model is in */
};

/* What a preprocessor asks the host to measure, in one pass shared by all that ask. Only what was asked for is there to
 * be read: `loupe_measurement.measures` says what is. */
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

/* Where a tensor lies: in the processor's memory, or on a device. What comes without a tensor counts as the first. */
enum { LOUPE_PLACE_CPU = 1, LOUPE_PLACE_DEVICE = 2, LOUPE_PLACE_BOTH = 3 };

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
  uint32_t places;    /* LOUPE_PLACE_: the tensors of which places, 0 for both; events of others cost nothing */
  uint32_t reserved;
} loupe_request;

enum { LOUPE_MEASURED_SAMPLE = 1u << 0 /* what compares with earlier events looked at a sample of the elements */ };

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
  /* Counts of the finite elements between ascending edges, `bin_count` + 1 of them, infinite at both ends; one bin
   * about 0 holds zeros and subnormals. NaN and Inf are in nan_count and inf_count. Valid for the call. */
  const uint64_t* bins;
  const double* bin_edges;
  size_t bin_count;
  uint32_t flags; /* LOUPE_MEASURED_SAMPLE */
  uint32_t reserved;
  int64_t compared; /* elements that were compared with the last event's: numel, or the size of the sample */
} loupe_measurement;

typedef struct loupe_event {
  uint32_t struct_size;
  uint32_t tap;
  uint32_t flags;
  uint32_t index;             /* which of the outputs or inputs `tensor` is of */
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
  uint64_t step; /* steps of the run's clock before this event */
} loupe_event;

/* ---- Components ---- */

struct loupe_component;

/* Handed to create; one an instance, valid until its destroy. */
typedef struct loupe_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  const char* version; /* Loupe's */
  void* context;       /* first argument of every host service */
  /* One line to the user, who is told which component speaks. */
  /* @thread any @state always @owns borrows message @since 1.0 */
  void (*log)(void* host, int32_t level, const char* message);
  /* Null for an id that this host does not offer. */
  /* @thread any @state always @owns host owns the table @since 1.0 */
  const void* (*get_interface)(void* host, const char* id);
} loupe_host;

/* What a gatherer asks of a tap. */
typedef struct loupe_subscription {
  uint32_t struct_size;
  uint32_t tap;
  const char* label; /* as the tap says, else null */
  uint32_t index;    /* which output or input, from 0, for the taps of outputs, inputs and their gradients */
  uint32_t reserved;
} loupe_subscription;

/* What a gatherer may do with the module it was opened on. */
typedef struct loupe_taps {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* NOT_FOUND when the module has no such parameter. */
  /* @thread serial @state opening @owns borrows subscription @since 1.0 */
  loupe_status (*subscribe)(void* taps, const loupe_subscription* subscription, loupe_error* error);
  /* Hands an event (the one received, or one of its own making) to the preprocessors behind this gatherer. */
  /* @thread event @state in an event @owns borrows event @since 1.0 */
  loupe_status (*emit)(void* taps, const loupe_event* event, loupe_error* error);
} loupe_taps;

/* LOUPE_GATHERER_ID: subscribes to taps of one module and hands the data to preprocessors. */
typedef struct loupe_gatherer {
  uint32_t struct_size;
  uint32_t reserved;
  /* module is null for the inspector's own stream of pushed values; label is the parameter or attribute asked for. */
  /* @thread serial @state created @owns taps and module outlive the gatherer @since 1.0 */
  loupe_status (*open)(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                       loupe_error* error);
  /* Optional: without it every event is handed on as it comes, which costs least. */
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
  /* @thread serial @state created @owns host's struct, prefilled with defaults @since 1.0 */
  loupe_status (*request)(void* self, loupe_request* request, loupe_error* error);
  /* @thread event @state open @owns borrows event @since 1.0 */
  loupe_status (*process)(void* self, const loupe_event* event, loupe_error* error);
  /* The number of series; may grow as events come. */
  /* @thread serial @state open @owns nothing @since 1.0 */
  size_t (*series_count)(void* self);
  /* @thread serial @state open @owns component's string, until reset @since 1.0 */
  const char* (*series_name)(void* self, size_t series);
  /* NOT_FOUND when the series is empty; UNSUPPORTED for a quantile nobody asked to keep. */
  /* @thread serial @state open @owns nothing @since 1.0 */
  loupe_status (*aggregate)(void* self, size_t series, uint32_t aggregation, double* value, loupe_error* error);
  /* Every value since the last reset, where they are kept; UNSUPPORTED where they are only folded. */
  /* @thread serial @state open @owns component's array, until reset @since 1.0 */
  loupe_status (*values)(void* self, size_t series, const double** values, size_t* count, loupe_error* error);
  /* The tick is over: forget its numbers, keep what spans ticks. */
  /* @thread serial @state open @owns nothing @since 1.0 */
  loupe_status (*reset)(void* self, loupe_error* error);
  /* The numbers since the last reset as bytes that another process of any machine may merge, whatever its version of
   * the plugin: the component's own format with a version of its own. `size` becomes what is needed; nothing is written
   * beyond `capacity`. Optional, with the next. */
  /* @thread serial @state open @owns caller's buffer @since 1.0 */
  loupe_status (*save_state)(void* self, void* bytes, size_t capacity, size_t* size, loupe_error* error);
  /* Goes on as if the events behind those bytes had come here too. INVALID, and nothing changes, for bytes that it
   * cannot read. */
  /* @thread serial @state open @owns borrows bytes @since 1.0 */
  loupe_status (*merge_state)(void* self, const void* bytes, size_t size, loupe_error* error);
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

/* What a source does without for a while. */
enum {
  LOUPE_REST_MEASURES = 1u << 0, /* its events come without a measurement */
  LOUPE_REST_EVENTS = 1u << 1,   /* no events come; one that nobody else takes costs a branch */
  LOUPE_REST_TENSORS = 1u << 2   /* its events may come without inputs and outputs, so that those need not be kept */
};

/* Adds up usual events of the sources that share it. An event is usual if it is measured, in the processor's memory,
 * holds neither NaN nor Inf, is compared with one before where its source asks for the change, does not say
 * LOUPE_EVENT_NOT_CLEARED, and, at LOUPE_TAP_FORWARD, says LOUPE_EVENT_TRAINING and LOUPE_EVENT_GRAD_ENABLED. */
typedef struct loupe_tally loupe_tally;

typedef struct loupe_tally_sums {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t events;
  uint64_t nonzero_events;     /* with an element other than 0 */
  uint64_t changed_events;     /* with a change other than 0 */
  double sum_squares;          /* of all elements of all these events */
  double largest_sum_squares;  /* of one event */
  const loupe_source* largest; /* which source that event came to; null without events */
  double last_sum_squares;     /* of the last event */
  const loupe_source* last;    /* which source that one came to; null without events */
} loupe_tally_sums;

/* What a lens may do while it is attached. */
typedef struct loupe_wiring {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* @thread serial @state attaching or visiting @owns the source lives until its module is forgotten, or with the lens
   * @since 1.0 */
  loupe_status (*watch)(void* wiring, const loupe_watch* watch, loupe_source** source, loupe_error* error);
  /* @thread serial @state always @owns nothing @since 1.0 */
  size_t (*series_count)(void* wiring, loupe_source* source);
  /* @thread serial @state always @owns source's string, until the tick ends @since 1.0 */
  const char* (*series_name)(void* wiring, loupe_source* source, size_t series);
  /* @thread serial @state always @owns nothing @since 1.0 */
  loupe_status (*aggregate)(void* wiring, loupe_source* source, size_t series, uint32_t aggregation, double* value,
                            loupe_error* error);
  /* @thread serial @state always @owns source's array, until the tick ends @since 1.0 */
  loupe_status (*values)(void* wiring, loupe_source* source, size_t series, const double** values, size_t* count,
                         loupe_error* error);
  /* From the next event on the source does without `what`, LOUPE_REST_ bits; 0: it has all again, and what nobody
   * measured meanwhile is compared anew. For a lens that need not see every event of a stream. A host older than this
   * member has none. */
  /* @thread serial @state attaching, visiting, stepping or reporting @owns nothing @since 1.0 */
  loupe_status (*rest)(void* wiring, loupe_source* source, uint32_t what, loupe_error* error);
  /* Hosts older than this member and the next two have none of them. */
  /* @thread serial @state attaching, visiting, stepping or reporting @owns the tally lives as long as the lens
   * @since 1.0 */
  loupe_status (*make_tally)(void* wiring, loupe_tally** tally, loupe_error* error);
  /* From the next event on, usual events of the source are added to the tally and not processed, which costs next to
   * nothing; null: all of them are processed again. What comes is measured all the same. */
  /* @thread serial @state attaching, visiting, stepping or reporting @owns nothing @since 1.0 */
  loupe_status (*use_tally)(void* wiring, loupe_source* source, loupe_tally* tally, loupe_error* error);
  /* What came since the last call. Also while an event is processed, which may need to know what came before it. */
  /* @thread any @state always @owns caller's struct @since 1.0 */
  loupe_status (*take_tally)(void* wiring, loupe_tally* tally, loupe_tally_sums* sums, loupe_error* error);
} loupe_wiring;

/* ---- What is shown ---- */

enum { LOUPE_TAG_NUMERICAL = 1, LOUPE_TAG_PROBABILITY = 2, LOUPE_TAG_RELATION = 3 };

/* A plot, or a family of plots with one a layer. */
typedef struct loupe_tag {
  uint32_t struct_size;
  uint32_t type;
  const char* id;    /* what values name; unique within the inspector */
  const char* title; /* "Weight Gradient Norm"; null: the id */
  const char* unit;  /* "s", "samples/s"; null where the number has none */
  /* For people, each a sentence or two, each may be null: what it is, with its formula; what is healthy; what to do
   * when it is not. */
  const char* description;
  const char* healthy;
  const char* advice;
  uint32_t log_y;    /* 1: a logarithmic axis */
  uint32_t big;      /* 1: one plot for the whole model, not one a layer */
  uint32_t annotate; /* 1: label the lines at their ends */
  uint32_t reserved;
  double y_minimum, y_maximum; /* NaN: as the data wants */
} loupe_tag;

enum { LOUPE_VALUE_ESTIMATED = 1u << 0 /* of a sample of the elements */ };

typedef struct loupe_value {
  uint32_t struct_size;
  uint32_t flags;
  const char* tag;   /* its id */
  const char* layer; /* as shown; null for a big plot */
  const char* line;  /* "mean" */
  double value;
  const loupe_module* module; /* whose; null for a big plot, or where a lens does not say */
  uint64_t events;            /* that the value stands on; 0 where a lens does not say */
} loupe_value;

typedef struct loupe_range {
  uint32_t struct_size;
  uint32_t flags;
  const char* tag;
  const char* layer;
  const char* low_name; /* "min" */
  const char* high_name;
  double low, high;
  const loupe_module* module;
  uint64_t events;
} loupe_range;

typedef struct loupe_histogram {
  uint32_t struct_size;
  uint32_t flags;
  const char* tag;
  const char* layer;
  const char* line;
  const double* edges; /* bin_count + 1, ascending; may be infinite at both ends */
  const double* counts;
  size_t bin_count;
  const loupe_module* module;
  uint64_t events;
} loupe_histogram;

enum { LOUPE_SEVERITY_INFO = 1, LOUPE_SEVERITY_WARNING = 2, LOUPE_SEVERITY_ERROR = 3 };
enum {
  LOUPE_FINDING_RAISED = 1,  /* new */
  LOUPE_FINDING_CHANGED = 2, /* still there, and its severity or figures are others */
  LOUPE_FINDING_GONE = 3     /* over */
};

/* What is wrong, in words. The rule, module and parameter are its identity: told again, it replaces the one before. */
typedef struct loupe_finding {
  uint32_t struct_size;
  uint32_t severity; /* LOUPE_SEVERITY_ */
  uint32_t state;    /* LOUPE_FINDING_ */
  uint32_t reserved;
  const char* rule;           /* snake_case: "vanishing_gradient" */
  const loupe_module* module; /* null where it concerns no one module */
  const char* layer;          /* the module as shown; null: the module's name */
  const char* parameter;      /* or null */
  const char* message;        /* one sentence: what is wrong, with its figures */
  const char* advice;         /* one sentence: what to do; null where nothing can be said */
  const char* tag;            /* the plot that shows it; or null */
  const char* source;         /* who found it; filled in by the host */
  double value, threshold;    /* NaN where there is none */
  uint64_t first_step, last_step;
  double first_epoch, last_epoch;
  uint64_t count; /* how often it was seen, at least 1 */
} loupe_finding;

/* Host service LOUPE_FINDINGS_ID: for components that have no sink at hand. */
typedef struct loupe_findings {
  uint32_t struct_size;
  uint32_t reserved;
  /* Told to the visualizers at the next step or tick. Copies what it is given: for a hook only when there is something
   * to say. */
  /* @thread any @state always @owns borrows finding @since 1.0 */
  loupe_status (*publish)(void* host, const loupe_finding* finding, loupe_error* error);
} loupe_findings;

enum {
  LOUPE_NOTE_TRAINER = 1,       /* the trainer's own words */
  LOUPE_NOTE_QUARANTINE = 2,    /* a lens was put aside */
  LOUPE_NOTE_LEARNING_RATE = 3, /* it changed by other than a smooth schedule */
  LOUPE_NOTE_COVERAGE = 4,      /* what cannot be seen */
  LOUPE_NOTE_COST = 5           /* how often the host looks was changed */
};

/* Something that happened, to be marked on the time axis. */
typedef struct loupe_note {
  uint32_t struct_size;
  uint32_t kind; /* LOUPE_NOTE_ */
  const char* text;
  uint64_t step;
  double epoch;
  double time; /* seconds since 1970, UTC */
} loupe_note;

enum { LOUPE_RUN_RESUMED = 1u << 0 /* goes on in the same directory */ };

typedef struct loupe_run {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_RUN_ */
  const char* name;
  const char* directory; /* "" when the run keeps no files */
  const char* config;    /* the YAML as read */
  const char* loupe_version;
  const char* libtorch_version; /* "" without LibTorch */
  const char* started;          /* ISO 8601, UTC */
  double start_time;            /* the same in seconds since 1970 */
  int32_t rank, world_size;     /* of several processes that train together; 0 and 1 for one alone */
  const char* train_loss;       /* the names under which losses are pushed: "train_loss" */
  const char* validation_loss;
} loupe_run;

/* Host service LOUPE_RUN_ID. */
typedef struct loupe_run_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* The run that the asking component is part of; null before there is one, as while a file is only validated. */
  /* @thread serial @state always @owns host's struct, until the run changes @since 1.0 */
  const loupe_run* (*run)(void* host);
} loupe_run_service;

/* @thread any @state within a call of lend @owns borrows tensor @since 1.0 */
typedef void (*loupe_take_tensor)(void* context, const loupe_tensor* tensor);

/* Host service LOUPE_PARAMETERS_ID. */
typedef struct loupe_parameters {
  uint32_t struct_size;
  uint32_t reserved;
  /* Calls `take` once with a parameter or buffer as it is now, or with its gradient where `gradient` is not 0.
   * NOT_FOUND where the module has none of that name, is gone, or has no gradient. For a hook only when there is
   * something to say; the tensor is not to be waited for there. */
  /* @thread any @state always @owns the view is borrowed by take @since 1.0 */
  loupe_status (*lend)(void* host, const loupe_module* module, const char* name, uint32_t gradient,
                       loupe_take_tensor take, void* context, loupe_error* error);
} loupe_parameters;

/* Where a lens reports. A tag is told before its first value. */
typedef struct loupe_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* @thread serial @state introducing or reporting @owns borrows tag @since 1.0 */
  loupe_status (*tag)(void* sink, const loupe_tag* tag, loupe_error* error);
  /* @thread serial @state reporting @owns borrows value @since 1.0 */
  loupe_status (*value)(void* sink, const loupe_value* value, loupe_error* error);
  /* @thread serial @state reporting @owns borrows range @since 1.0 */
  loupe_status (*range)(void* sink, const loupe_range* range, loupe_error* error);
  /* @thread serial @state reporting @owns borrows histogram @since 1.0 */
  loupe_status (*histogram)(void* sink, const loupe_histogram* histogram, loupe_error* error);
  /* Also between ticks, in `step`. */
  /* @thread serial @state stepping or reporting @owns borrows finding @since 1.0 */
  loupe_status (*finding)(void* sink, const loupe_finding* finding, loupe_error* error);
} loupe_sink;

/* LOUPE_LENS_ID: decides which modules to look at, and turns an epoch into tagged values. */
typedef struct loupe_lens {
  uint32_t struct_size;
  uint32_t reserved;
  /* Once, before the first module. */
  /* @thread serial @state created @owns wiring outlives the lens @since 1.0 */
  loupe_status (*attach)(void* self, const loupe_wiring* wiring, loupe_error* error);
  /* Every module, parents before children; functions as they are first seen. */
  /* @thread serial @state attached @owns module lives until forgotten @since 1.0 */
  loupe_status (*visit)(void* self, const loupe_module* module, loupe_error* error);
  /* The module is detached: its sources end with this call. Optional. */
  /* @thread serial @state attached @owns nothing @since 1.0 */
  void (*forget)(void* self, const loupe_module* module);
  /* All tags known so far: at the first tick, and at one before which modules were added. Optional. */
  /* @thread serial @state attached @owns borrows sink @since 1.0 */
  loupe_status (*introduce)(void* self, const loupe_sink* sink, loupe_error* error);
  /* The epoch, or stretch of steps, is over. Afterwards the host resets the lens's sources. */
  /* @thread serial @state attached @owns borrows tick and sink @since 1.0 */
  loupe_status (*report)(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error);
  /* A number of the last report by a key of the lens's own, such as "train_loss median"; optional. */
  /* @thread serial @state attached @owns nothing @since 1.0 */
  loupe_status (*query)(void* self, const char* key, double* value, loupe_error* error);
  /* After each step of an attached optimizer, on the thread that took it: quick, or training waits. The sink takes
   * findings alone. Optional. */
  /* @thread serial @state attached @owns borrows step and sink @since 1.0 */
  loupe_status (*step)(void* self, const loupe_step* step, const loupe_sink* sink, loupe_error* error);
} loupe_lens;

typedef struct loupe_progress {
  uint32_t struct_size;
  uint32_t reserved;
  double epoch;          /* the one being trained */
  double epochs;         /* 0 when unknown */
  uint64_t steps;        /* optimizer steps since the last tick */
  uint64_t steps_before; /* in the epoch before; 0 when unknown */
  double seconds;        /* since the last tick */
  uint64_t step;         /* steps of the run's clock so far */
} loupe_progress;

enum {
  LOUPE_END_COMPLETED = 1,   /* all that was announced, or the inspector simply ended */
  LOUPE_END_INTERRUPTED = 2, /* the loop was left early */
  LOUPE_END_FAILED = 3       /* an exception or an abnormal end */
};

/* How a run ended. */
typedef struct loupe_ending {
  uint32_t struct_size;
  uint32_t how; /* LOUPE_END_ */
  uint64_t step;
  double epoch;
  double time;
  double elapsed;
  const char* message; /* one sentence; null where there is nothing to add */
} loupe_ending;

/* LOUPE_VISUALIZER_ID: receives tags and values, and shows or stores them. Only begin_tick and value must be there. */
typedef struct loupe_visualizer {
  uint32_t struct_size;
  uint32_t reserved;
  /* @thread serial @state created @owns borrows run @since 1.0 */
  loupe_status (*begin)(void* self, const loupe_run* run, loupe_error* error);
  /* Before the tag's first value. The same id again replaces what was said of it. */
  /* @thread serial @state begun @owns borrows tag @since 1.0 */
  loupe_status (*tag)(void* self, const loupe_tag* tag, loupe_error* error);
  /* @thread serial @state begun @owns borrows tick @since 1.0 */
  loupe_status (*begin_tick)(void* self, const loupe_tick* tick, loupe_error* error);
  /* @thread serial @state in a tick @owns borrows value @since 1.0 */
  loupe_status (*value)(void* self, const loupe_value* value, loupe_error* error);
  /* @thread serial @state in a tick @owns borrows range @since 1.0 */
  loupe_status (*range)(void* self, const loupe_range* range, loupe_error* error);
  /* @thread serial @state in a tick @owns borrows histogram @since 1.0 */
  loupe_status (*histogram)(void* self, const loupe_histogram* histogram, loupe_error* error);
  /* The tick is told. May return before it is shown or stored. */
  /* @thread serial @state in a tick @owns nothing @since 1.0 */
  loupe_status (*end_tick)(void* self, loupe_error* error);
  /* Returns when everything told so far is shown or stored, safe from a killed process. */
  /* @thread serial @state begun @owns nothing @since 1.0 */
  loupe_status (*flush)(void* self, loupe_error* error);
  /* A few times a second while the model trains. */
  /* @thread serial @state begun @owns borrows progress @since 1.0 */
  loupe_status (*progress)(void* self, const loupe_progress* progress, loupe_error* error);
  /* In a tick or between two. */
  /* @thread serial @state begun @owns borrows finding @since 1.0 */
  loupe_status (*finding)(void* self, const loupe_finding* finding, loupe_error* error);
  /* @thread serial @state begun @owns borrows note @since 1.0 */
  loupe_status (*note)(void* self, const loupe_note* note, loupe_error* error);
  /* Each model, before the first tick after it was attached. */
  /* @thread serial @state begun @owns borrows model @since 1.0 */
  loupe_status (*model)(void* self, const loupe_model* model, loupe_error* error);
  /* What the run was set to: of an optimizer, or told by the trainer. The same name again replaces it. */
  /* @thread serial @state begun @owns borrows value @since 1.0 */
  loupe_status (*hyperparameter)(void* self, const loupe_option_value* value, loupe_error* error);
  /* @thread serial @state begun @owns borrows ending @since 1.0 */
  loupe_status (*end)(void* self, const loupe_ending* ending, loupe_error* error);
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
  void* context;     /* the plugin's own; the host does not read it */
  /* `component` is this very struct, so that one function can make many components. */
  /* @thread serial @state always @owns caller destroys the instance; host lives until then @since 1.0 */
  loupe_status (*create)(const struct loupe_component* component, const loupe_host* host, const loupe_options* options,
                         void** self, loupe_error* error);
  /* Never called from an event. */
  /* @thread serial @state created @owns the instance ends @since 1.0 */
  void (*destroy)(void* self);
  const char* const* aliases; /* other names that YAML accepts */
  size_t alias_count;
  /* For `loupe describe`: what it gives, each "name: one line" (a preprocessor's series, a lens's tags), and an example
   * in YAML. Null where there is nothing to say. */
  const char* const* gives;
  size_t give_count;
  const char* example;
} loupe_component;

/* LOUPE_PLUGIN_ID. */
typedef struct loupe_plugin {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const char* version;
  const loupe_component* const* components;
  size_t component_count;
  /* For `loupe list --long`; each may be null. */
  const char* description;
  const char* author;
  const char* license; /* an SPDX expression, such as "MIT" */
  const char* homepage;
  /* Once, when no instance is left and none will be made: as the process ends. The code stays loaded. Optional. */
  /* @thread serial @state when no instance is left @owns nothing @since 1.0 */
  void (*unload)(void);
} loupe_plugin;

/* The bootstrap. Frozen for good: never a member more, never one less. */
typedef struct loupe_entry {
  uint64_t magic; /* LOUPE_MAGIC */
  uint32_t abi_major;
  uint32_t abi_minor;
  /* Null for an id that the plugin does not offer. */
  /* @thread serial @state always @owns plugin owns the table, for good @since 1.0 */
  const void* (*get_interface)(const char* id);
} loupe_entry;

/* What a plugin exports, under the name that the macro gives. */
#define LOUPE_ENTRY_SYMBOL "loupe_plugin_entry"

#ifdef __cplusplus
}
#endif

#endif
