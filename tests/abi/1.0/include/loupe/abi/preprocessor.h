/* Preprocessors: make numbers of the events of one stream. */
#pragma once

#include <loupe/abi/events.h>

#define LOUPE_PREPROCESSOR_ID "loupe.preprocessor/1"

/* The numbers of one series since the last reset. NaN and Inf are counted apart, and are in no other number but `last`.
 * Zeroed but for its size and name, it is that of an empty series. */
typedef struct loupe_series {
  uint32_t struct_size, reserved;
  const char* name; /* not null */
  uint64_t count;   /* of finite values */
  uint64_t nan_count;
  uint64_t inf_count;
  double sum; /* of the finite values, as the next four; these are 0 where there are none */
  double mean;
  double standard_deviation; /* of the population */
  double minimum;
  double maximum;
  double last; /* of all values, so that it may be NaN or Inf; 0 where none came */
} loupe_series;

/* Takes the next bytes of what is written to `writer`; not OK: the rest is of no use, and whoever writes returns that
 * status. The bytes may be null where `size` is 0. */
/* @thread trainer @state in save_state @reenter none @owns borrows bytes @since 1.0 */
typedef loupe_status (*loupe_write)(void* writer, const void* bytes, size_t size, loupe_error* error);

/* LOUPE_PREPROCESSOR_ID: turns the events of one stream into numbers and folds them over an epoch. */
typedef struct loupe_preprocessor {
  uint32_t struct_size, reserved;
  /* What the preprocessor offers beyond this table. Optional. */
  /* @thread trainer @state created @reenter none @owns component owns the table @since 1.0 */
  const void* (*get_extension)(void* self, const char* id);
  /* Once, before the first event: says what is to be measured, and which events are to come. Series that are there by
   * now are known to the lens as it watches; others are made as events come. */
  /* @thread trainer or model @state created @reenter none @owns host's struct, zero but for its size @since 1.0 */
  loupe_status (*request)(void* self, loupe_request* request, loupe_error* error);
  /* One event. It may come thousands of times a second: no waiting. */
  /* @thread trainer or model @state open @reenter none @owns borrows event @since 1.0 */
  loupe_status (*process)(void* self, const loupe_event* event, loupe_error* error);
  /* The number of series; may grow as events come. */
  /* @thread trainer or model @state open @reenter none @owns nothing @since 1.0 */
  size_t (*series_count)(void* self);
  /* Fills in a series's row, which comes zeroed but for its size. An empty series is OK, with a count of 0. NOT_FOUND
   * for an index that there is not. The name stays as it is, where it is, as long as the preprocessor. */
  /* @thread trainer or model @state open @reenter none @owns caller's struct; component owns the name @since 1.0 */
  loupe_status (*read)(void* self, size_t index, loupe_series* row, loupe_error* error);
  /* Writes, for each of `q_count` shares of the sorted finite values from 0 to 1, the value there, interpolated
   * linearly. INVALID for another share; UNSUPPORTED where neither values nor quantiles are kept; NOT_FOUND where there
   * is no finite value. Both pointers may be null where `q_count` is 0. Optional. */
  /* @thread trainer or model @state open @reenter none @owns caller's `q_count` doubles @since 1.0 */
  loupe_status (*quantiles)(void* self, size_t index, const double* q, size_t q_count, double* values,
                            loupe_error* error);
  /* Writes the first `capacity` values since the last reset; `count` becomes how many there are. UNSUPPORTED where they
   * are folded and not kept. `values` may be null where `capacity` is 0. Optional. */
  /* @thread trainer or model @state open @reenter none @owns caller's buffer @since 1.0 */
  loupe_status (*values)(void* self, size_t index, double* values, size_t capacity, size_t* count, loupe_error* error);
  /* The tick is over: forget its numbers, keep what spans ticks. */
  /* @thread trainer @state open @reenter none @owns nothing @since 1.0 */
  loupe_status (*reset)(void* self, loupe_error* error);
  /* Writes the numbers since the last reset, in as many pieces as it likes, as bytes that another process on any
   * machine can merge. The format is the component's own and has a version. Returns what `write` does where that is not
   * OK. Optional, with the next. */
  /* @thread trainer @state open @reenter none @owns borrows writer @since 1.0 */
  loupe_status (*save_state)(void* self, loupe_write write, void* writer, loupe_error* error);
  /* Goes on as if the events behind those bytes had come here too. INVALID, and nothing changes, for bytes that it
   * cannot read. */
  /* @thread trainer @state open @reenter none @owns borrows bytes @since 1.0 */
  loupe_status (*merge_state)(void* self, const void* bytes, size_t size, loupe_error* error);
} loupe_preprocessor;
