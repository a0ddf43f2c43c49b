/* Preprocessors: make numbers of the events of one stream. */
#ifndef LOUPE_ABI_PREPROCESSOR_H
#define LOUPE_ABI_PREPROCESSOR_H

#include <loupe/abi/events.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_PREPROCESSOR_ID "loupe.preprocessor/1"

/* The ways to make one number of a series. */
enum {
  LOUPE_AGGREGATE_MEAN = 1,
  LOUPE_AGGREGATE_MEDIAN = 2,
  LOUPE_AGGREGATE_MAX = 3,
  LOUPE_AGGREGATE_MIN = 4,
  LOUPE_AGGREGATE_Q1 = 5,
  LOUPE_AGGREGATE_Q3 = 6,
  LOUPE_AGGREGATE_IQR = 7,
  LOUPE_AGGREGATE_STD = 8, /* of the population */
  LOUPE_AGGREGATE_COUNT = 9,
  LOUPE_AGGREGATE_SUM = 10,
  LOUPE_AGGREGATE_LAST = 11,
  LOUPE_AGGREGATE_NAN_COUNT = 12,
  LOUPE_AGGREGATE_INF_COUNT = 13
};

/* LOUPE_PREPROCESSOR_ID: turns the events of one stream into numbers and folds them over an epoch. */
typedef struct loupe_preprocessor {
  uint32_t struct_size;
  uint32_t reserved;
  /* What this component offers beyond this table, by an id with a revision; null for an id that it does not know.
   * Optional. */
  /* @thread trainer @state created @reenter none @owns component owns the table @since 1.0 */
  const void* (*get_extension)(void* self, const char* id);
  /* @thread trainer or model @state created @reenter none @owns host's struct, zero but for its size @since 1.0 */
  loupe_status (*request)(void* self, loupe_request* request, loupe_error* error);
  /* @thread trainer or model @state open @reenter none @owns borrows event @since 1.0 */
  loupe_status (*process)(void* self, const loupe_event* event, loupe_error* error);
  /* The number of series; may grow as events come. */
  /* @thread trainer or model @state open @reenter none @owns nothing @since 1.0 */
  size_t (*series_count)(void* self);
  /* Writes a series's name with a closing NUL, cut to fit, where `capacity` is not 0. `length` becomes the whole name's
   * length without the NUL. */
  /* @thread trainer or model @state open @reenter none @owns caller's buffer @since 1.0 */
  loupe_status (*series_name)(void* self, size_t series, char* name, size_t capacity, size_t* length,
                              loupe_error* error);
  /* NOT_FOUND when the series is empty; UNSUPPORTED for a quantile nobody asked to keep. */
  /* @thread trainer or model @state open @reenter none @owns nothing @since 1.0 */
  loupe_status (*aggregate)(void* self, size_t series, uint32_t aggregation, double* value, loupe_error* error);
  /* Writes the first `capacity` values since the last reset; `count` becomes how many there are. UNSUPPORTED where they
   * are folded and not kept. Optional. */
  /* @thread trainer or model @state open @reenter none @owns caller's buffer @since 1.0 */
  loupe_status (*values)(void* self, size_t series, double* values, size_t capacity, size_t* count, loupe_error* error);
  /* The tick is over: forget its numbers, keep what spans ticks. */
  /* @thread trainer @state open @reenter none @owns nothing @since 1.0 */
  loupe_status (*reset)(void* self, loupe_error* error);
  /* The numbers since the last reset as bytes that another process on any machine can merge. The format is the
   * component's own and has a version. `size` becomes what is needed; nothing is written where `capacity` is less.
   * Optional, with the next. */
  /* @thread trainer @state open @reenter none @owns caller's buffer @since 1.0 */
  loupe_status (*save_state)(void* self, void* bytes, size_t capacity, size_t* size, loupe_error* error);
  /* Goes on as if the events behind those bytes had come here too. INVALID, and nothing changes, for bytes that it
   * cannot read. */
  /* @thread trainer @state open @reenter none @owns borrows bytes @since 1.0 */
  loupe_status (*merge_state)(void* self, const void* bytes, size_t size, loupe_error* error);
} loupe_preprocessor;

#ifdef __cplusplus
}
#endif

#endif
