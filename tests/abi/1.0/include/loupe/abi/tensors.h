/* Tensors, and the host service that keeps them. */
#pragma once

#include <loupe/abi/entry.h>

#define LOUPE_TENSORS_ID "loupe.tensors/1"

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

/* The library whose object `loupe_tensor.native` is. A process has one of each, so an address in it identifies it. */
typedef struct loupe_native_library {
  uint32_t struct_size, reserved;
  const char* name;     /* "libtorch" */
  const char* version;  /* as its headers say: "2.6.0" */
  const void* identity; /* an address in that very library; see loupe/torch.h */
} loupe_native_library;

/* A borrowed, read-only view, valid for the call. To keep it, retain it (loupe_tensor_service). Its elements are the
 * training's own memory, so writing to them would change training: to change them, clone the tensor. They are plain
 * numbers laid out by `strides`: a tensor with another layout in LibTorch comes as a copy, a sparse one as
 * LOUPE_REQUEST_SPARSE says.
 *
 * The data of a device tensor is valid in the order of the stream that is current on the calling thread: work enqueued
 * there sees it; any other stream, and the CPU, must wait for that stream first. Retaining prevents the memory from
 * being reused; it does not wait. */
typedef struct loupe_tensor {
  uint32_t struct_size;
  uint8_t dtype_code;     /* LOUPE_DTYPE_ */
  uint8_t dtype_bits;     /* of one lane */
  uint16_t dtype_lanes;   /* 1 except for packed types */
  int32_t device_type;    /* LOUPE_DEVICE_ */
  int32_t device_id;      /* 0 for the CPU */
  const void* data;       /* null for an empty tensor; device memory unless LOUPE_DEVICE_CPU */
  const int64_t* sizes;   /* `dim` of them */
  const int64_t* strides; /* in elements */
  int64_t dim;
  int64_t numel;
  const void* native;                         /* const at::Tensor*, for code that includes loupe/torch.h; may be null */
  const loupe_native_library* native_library; /* the library of `native`; null if that is */
} loupe_tensor;

typedef struct loupe_retained loupe_retained;

/* Host service LOUPE_TENSORS_ID. */
typedef struct loupe_tensor_service {
  uint32_t struct_size, reserved;
  /* Keeps a tensor. It shares the memory, which a module may change later. */
  /* @thread any @state always @reenter none @owns caller releases the handle @since 1.0 */
  loupe_status (*retain)(void* context, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error);
  /* Releases a handle from retain or clone. */
  /* @thread any @state always @reenter none @owns the handle ends @since 1.0 */
  void (*release)(void* context, loupe_retained* kept);
  /* The tensor behind a handle. */
  /* @thread any @state always @reenter none @owns the view lives as long as the handle @since 1.0 */
  const loupe_tensor* (*view)(void* context, const loupe_retained* kept);
  /* Copies the tensor on its own device. Does not wait for the device. */
  /* @thread any @state always @reenter none @owns caller releases the handle @since 1.0 */
  loupe_status (*clone)(void* context, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error);
  /* Copies the first `capacity` elements in row-major order; `count` becomes their number. Waits for the device: do not
   * call it in a hook. */
  /* @thread any @state always @reenter none @owns caller's buffer @since 1.0 */
  loupe_status (*copy)(void* context, const loupe_tensor* tensor, double* values, size_t capacity, size_t* count,
                       loupe_error* error);
} loupe_tensor_service;
