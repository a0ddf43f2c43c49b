/* A draft: it may change or go without notice. The past of a run that goes on in the same folder. */
#pragma once

#include <loupe/abi/visualizer.h>

#define LOUPE_DRAFT_HISTORY_ID "loupe.history/draft-2"

enum { LOUPE_DRAFT_HISTORY_EVENTS = 1u << 0 /* findings and notes, too */ };

/* The extension LOUPE_DRAFT_HISTORY_ID of a loupe_visualizer that stores runs, whose `self` is the functions' first
 * argument. The first of a run's visualizers that has it is asked. */
typedef struct loupe_draft_history {
  uint32_t struct_size, reserved;
  /* The epoch and step of the tick with the greatest epoch below `before` that a run's folder has. NOT_FOUND without
   * one. */
  /* @thread display @state created @reenter none @owns borrows directory; caller's moment @since 1.0 */
  loupe_status (*last)(void* self, const char* directory, double before, loupe_moment* at, loupe_error* error);
  /* Tells `to` what the folder has before epoch `before`, in its order: tags, rows and histograms of whole ticks, and
   * with EVENTS notes and findings, those that still stand as gone. No begin, model, hyperparameter, progress, flush or
   * end. What `to` answers other than OK ends it and is returned. NOT_FOUND where nothing is stored; INVALID, once all
   * that can be read was told, where the rest is broken. */
  /* @thread display @state created @reenter functions of `to` @owns borrows all @since 1.0 */
  loupe_status (*play)(void* self, const char* directory, double before, uint32_t flags, const loupe_visualizer* to,
                       void* to_self, loupe_error* error);
} loupe_draft_history;
