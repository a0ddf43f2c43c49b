/* Preprocessors: turn the events of one stream into numbers. */
#pragma once

#include <loupe/abi/events.h>

#define LOUPE_PREPROCESSOR_ID "loupe.preprocessor/1"

/* The numbers of one series since the last reset. NaN and Inf are counted separately; otherwise only `last` includes
 * them. An empty series has zeros except for its size and name. */
typedef struct loupe_series {
  uint32_t struct_size, reserved;
  const char* name; /* not null */
  uint64_t count;   /* of finite values */
  uint64_t nan_count;
  uint64_t inf_count;
  double sum; /* of the finite values, like the next four; 0 if there are none */
  double mean;
  double standard_deviation; /* of the population */
  double minimum;
  double maximum;
  double last; /* of all values, so it may be NaN or Inf; 0 if none came */
} loupe_series;

/* Takes the next bytes written to `writer`. If it does not return OK, stop writing and return that status. The bytes
 * may be null if `size` is 0. */
/* @thread trainer @state in save_state @reenter none @owns borrows bytes @since 1.0 */
typedef loupe_status (*loupe_write)(void* writer, const void* bytes, size_t size, loupe_error* error);

/* LOUPE_PREPROCESSOR_ID: turns the events of one stream into numbers and folds them over an epoch. */
typedef struct loupe_preprocessor {
  uint32_t struct_size, reserved;
  /* What the preprocessor offers beyond this table. Optional. */
  /* @thread trainer @state created @reenter none @owns component owns the table @since 1.0 */
  const void* (*get_extension)(void* self, const char* id);
  /* Once, before the first event: requests measurements and events. Series that exist by now are known to the lens when
   * it watches; others may be added as events come. */
  /* @thread trainer or model @state created @reenter none @owns host's struct, zero but for its size @since 1.0 */
  loupe_status (*request)(void* self, loupe_request* request, loupe_error* error);
  /* Processes one event. It may be called thousands of times a second: do not wait. */
  /* @thread trainer or model @state open @reenter none @owns borrows event @since 1.0 */
  loupe_status (*process)(void* self, const loupe_event* event, loupe_error* error);
  /* The number of series; may grow as events come. */
  /* @thread trainer or model @state open @reenter none @owns nothing @since 1.0 */
  size_t (*series_count)(void* self);
  /* Fills in the row of a series, which is zero except for its size. An empty series is OK, with a count of 0.
   * NOT_FOUND if the index is out of range. The name is valid and unchanged while the preprocessor lives. */
  /* @thread trainer or model @state open @reenter none @owns caller's struct; component owns the name @since 1.0 */
  loupe_status (*read)(void* self, size_t index, loupe_series* row, loupe_error* error);
  /* Writes, for each of `q_count` shares of the sorted finite values from 0 to 1, the value there, interpolated
   * linearly. INVALID for a share outside 0 to 1; UNSUPPORTED if neither values nor quantiles are kept; NOT_FOUND if
   * there is no finite value. Both pointers may be null if `q_count` is 0. Optional. */
  /* @thread trainer or model @state open @reenter none @owns caller's `q_count` doubles @since 1.0 */
  loupe_status (*quantiles)(void* self, size_t index, const double* q, size_t q_count, double* values,
                            loupe_error* error);
  /* Writes the first `capacity` values since the last reset; `count` becomes their number. UNSUPPORTED if they are
   * folded and not kept. `values` may be null if `capacity` is 0. Optional. */
  /* @thread trainer or model @state open @reenter none @owns caller's buffer @since 1.0 */
  loupe_status (*values)(void* self, size_t index, double* values, size_t capacity, size_t* count, loupe_error* error);
  /* The tick is over: forget its numbers, keep state that spans ticks. */
  /* @thread trainer @state open @reenter none @owns nothing @since 1.0 */
  loupe_status (*reset)(void* self, loupe_error* error);
  /* Writes the numbers since the last reset, in any number of pieces, as bytes that a process on another machine can
   * merge. The component defines the format and gives it a version. Returns the status of `write` if that is not OK.
   * Optional, together with merge_state. */
  /* @thread trainer @state open @reenter none @owns borrows writer @since 1.0 */
  loupe_status (*save_state)(void* self, loupe_write write, void* writer, loupe_error* error);
  /* Continues as if the events behind those bytes had come here too. If it cannot read the bytes, it changes nothing
   * and returns INVALID. */
  /* @thread trainer @state open @reenter none @owns borrows bytes @since 1.0 */
  loupe_status (*merge_state)(void* self, const void* bytes, size_t size, loupe_error* error);
} loupe_preprocessor;
