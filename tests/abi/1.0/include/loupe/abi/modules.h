/* Models, their modules and parameters. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_PARAMETERS_ID "loupe.parameters/1"

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
  LOUPE_MODULE_LEAF = 1u << 1, /* it has no children, or `depth` ends here */
  LOUPE_MODULE_FUNCTIONAL =
      1u << 2,                   /* not a module: a function such as torch::relu, named after the module before it */
  LOUPE_MODULE_TAPPED = 1u << 3, /* Loupe sees its forward */
  LOUPE_MODULE_LOSS = 1u << 4    /* a loss module that the trainer attached, outside any model */
};
#define LOUPE_MODULE_DRAFTS 0xFFFF0000u /* left to drafts */

enum {
  LOUPE_PARAMETER_BUFFER = 1u << 0,    /* a buffer, such as running_mean; never changes */
  LOUPE_PARAMETER_TRAINABLE = 1u << 1, /* requires a gradient */
  LOUPE_PARAMETER_OPTIMIZED = 1u << 2  /* an attached optimizer holds it */
};
#define LOUPE_PARAMETER_DRAFTS 0xFFFF0000u /* left to drafts */

typedef struct loupe_parameter {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_PARAMETER_ bits when the module was attached; loupe_parameter_service has the current ones */
  const char* name; /* within its module: "weight" */
  int64_t dim;
  int64_t numel;
  const int64_t* sizes; /* `dim` of them */
} loupe_parameter;

/* One module as lenses see it. It lives, like its model and all modules in it, until each lens has forgotten the last
 * of them; what a visualizer gets lives until the call returns. */
typedef struct loupe_module {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t id; /* unique within the inspector */
  uint32_t family;
  uint32_t reserved;
  const char* name; /* to show: the path, after the model's name if several models are attached */
  const char* path; /* within the model; "" for the model itself */
  /* The module that contains it. For a function, and for a module that its model has not registered: the module it is
   * named after. Null for a root, and if the host does not know it, as in a record. */
  const struct loupe_module* parent;
  const struct loupe_model* model;          /* null for a LOSS module, and for one outside any model */
  const char* type;                         /* "Linear" */
  const char* full_type;                    /* "torch::nn::LinearImpl" */
  const loupe_parameter* const* parameters; /* its own, not its children's; buffers last */
  size_t parameter_count;
  const char* settings; /* as its type prints them: "3, 4, eps=1e-05"; null if it prints none */
} loupe_module;

/* An attached model. It is complete before a lens visits its first module. */
typedef struct loupe_model {
  uint32_t struct_size, reserved;
  const char* name; /* to show */
  const char* type; /* "torch::nn::SequentialImpl" */
  int64_t parameter_element_count;
  const loupe_module* const* modules; /* parents before children; without functions and unregistered modules, which are
                                         seen only when the model runs */
  size_t module_count;
  const char* own_name; /* the name given at attach, which its optimizers also have; "" for a single, unnamed model */
} loupe_model;

/* Receives a tensor that is lent. */
/* @thread any @state within a call of lend @reenter none @owns borrows tensor @since 1.0 */
typedef void (*loupe_take_tensor)(void* context, const loupe_tensor* tensor);

enum { LOUPE_LEND_GRADIENT = 1u << 0 /* its gradient, not the parameter itself */ };

/* Host service LOUPE_PARAMETERS_ID. */
typedef struct loupe_parameter_service {
  uint32_t struct_size, reserved;
  /* Calls `take` once with a parameter or buffer as it is now; `flags`: LOUPE_LEND_ bits. NOT_FOUND if the module is
   * detached, has no parameter of that name, or the parameter has no gradient. Slow for a hook: call it there only when
   * there is something to report, and do not wait for the tensor. */
  /* @thread any @state always @reenter take @owns the view is borrowed by take @since 1.0 */
  loupe_status (*lend)(void* context, const loupe_module* module, const char* name, uint32_t flags,
                       loupe_take_tensor take, void* take_context, loupe_error* error);
  /* The LOUPE_PARAMETER_ bits of the module's parameter `index` at the last step or tick. NOT_FOUND, with `flags`
   * unchanged, if the module is detached or has no such parameter: then use the flags in loupe_parameter, as in a
   * recorded run, where this service may be missing. Quick enough for a hook. */
  /* @thread any @state always @reenter none @owns caller's number @since 1.0 */
  loupe_status (*flags)(void* context, const loupe_module* module, size_t index, uint32_t* flags, loupe_error* error);
} loupe_parameter_service;
