/* A draft: it may change or go without notice. Sources that do without events for a while, or only add them up. */
#ifndef LOUPE_DRAFT_ABI_TALLY_H
#define LOUPE_DRAFT_ABI_TALLY_H

#include <loupe/abi/lens.h>
#include <loupe/draft/abi/flags.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_DRAFT_TALLY_ID "loupe.tally/draft-1"

/* What a source does without for a while. */
enum {
  LOUPE_REST_MEASURES = 1u << 0, /* its events come without a measurement */
  LOUPE_REST_EVENTS = 1u << 1,   /* no events come; one that nobody else takes costs a branch */
  LOUPE_REST_TENSORS = 1u << 2   /* its events may come without inputs and outputs, so that those need not be kept */
};

/* Adds up usual events of the sources that share it. An event is usual if all of this holds: it is measured, in the
 * CPU's memory; it holds neither NaN nor Inf; it is compared with the event before, where its source asks for the
 * change; it lacks LOUPE_DRAFT_EVENT_NOT_CLEARED; and at LOUPE_TAP_FORWARD it has LOUPE_EVENT_TRAINING and
 * LOUPE_EVENT_GRAD_ENABLED. */
typedef struct loupe_tally loupe_tally;

typedef struct loupe_tally_sums {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t events;
  uint64_t nonzero_events;     /* with an element other than 0 */
  uint64_t changed_events;     /* with a change other than 0 */
  double sum_squares;          /* of all elements of all these events */
  double largest_sum_squares;  /* of one event */
  const loupe_source* largest; /* the source of that event; null without events */
  double last_sum_squares;     /* of the last event */
  const loupe_source* last;    /* the source of that one; null without events */
} loupe_tally_sums;

/* The extension LOUPE_DRAFT_TALLY_ID of a loupe_wiring, whose `context` is each function's first argument. */
typedef struct loupe_draft_tally {
  uint32_t struct_size;
  uint32_t reserved;
  /* From the next event on, the source does without `what`, LOUPE_REST_ bits. With 0 it gets everything again, and
   * starts anew with comparing what nobody measured meanwhile. */
  /* @thread trainer or model @state attaching, visiting, stepping or reporting @reenter none @owns nothing
   * @since 1.0 */
  loupe_status (*rest)(void* context, loupe_source* source, uint32_t what, loupe_error* error);
  /* @thread trainer or model @state attaching, visiting, stepping or reporting @reenter none
   * @owns the tally lives as long as the lens @since 1.0 */
  loupe_status (*make)(void* context, loupe_tally** tally, loupe_error* error);
  /* From the next event on, usual events of the source are added to the tally and not processed, which costs next to
   * nothing. With null, all of them are processed again. They are measured either way. */
  /* @thread trainer or model @state attaching, visiting, stepping or reporting @reenter none @owns nothing
   * @since 1.0 */
  loupe_status (*use)(void* context, loupe_source* source, loupe_tally* tally, loupe_error* error);
  /* What came since the last call. Also while an event is processed. */
  /* @thread any @state always @reenter none @owns caller's struct @since 1.0 */
  loupe_status (*take)(void* context, loupe_tally* tally, loupe_tally_sums* sums, loupe_error* error);
} loupe_draft_tally;

#ifdef __cplusplus
}
#endif

#endif
