/* A draft: it may change or go without notice. The past of a run that continues in the same folder. */
#pragma once

#include <loupe/abi/visualizer.h>

#define LOUPE_DRAFT_HISTORY_ID "loupe.history/draft-2"

enum { LOUPE_DRAFT_HISTORY_EVENTS = 1u << 0 /* findings and notes, too */ };

/* The extension LOUPE_DRAFT_HISTORY_ID of a loupe_visualizer that stores runs, whose `self` is the functions' first
 * argument. The host asks the first of a run's visualizers that has it. */
typedef struct loupe_draft_history {
  uint32_t struct_size, reserved;
  /* The epoch and step of the tick with the greatest epoch below `before` that a run's folder has. NOT_FOUND if there
   * is none. */
  /* @thread display @state created @reenter none @owns borrows directory; caller's moment @since 1.0 */
  loupe_status (*last)(void* self, const char* directory, double before, loupe_moment* at, loupe_error* error);
  /* Plays to `to` what the folder has before epoch `before`, in its order: tags, rows and histograms of whole ticks,
   * and with EVENTS notes and findings, open ones as resolved. No begin, model, hyperparameter, progress, flush or end.
   * A status of `to` other than OK stops it and is returned. NOT_FOUND if nothing is stored; INVALID, after everything
   * readable was played, if the rest is damaged. */
  /* @thread display @state created @reenter functions of `to` @owns borrows all @since 1.0 */
  loupe_status (*play)(void* self, const char* directory, double before, uint32_t flags, const loupe_visualizer* to,
                       void* to_self, loupe_error* error);
} loupe_draft_history;
