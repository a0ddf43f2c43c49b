/* Visualizers: show or store what lenses report. */
#pragma once

#include <loupe/abi/findings.h>
#include <loupe/abi/options.h>
#include <loupe/abi/run.h>
#include <loupe/abi/shown.h>
#include <loupe/abi/steps.h>

#define LOUPE_VISUALIZER_ID "loupe.visualizer/1"

/* LOUPE_VISUALIZER_ID: receives tags and values, and shows or stores them. Only begin_tick and row are required. It
 * gets copies: the `module` of a finding is null, and `layer` has its name. Training does not wait for a call, unless
 * several ticks are queued. */
typedef struct loupe_visualizer {
  uint32_t struct_size, reserved;
  /* What the visualizer offers beyond this table. Optional. */
  /* @thread display @state created @reenter none @owns component owns the table @since 1.0 */
  const void* (*get_extension)(void* self, const char* id);
  /* A run begins, continues in another folder, or is joined. */
  /* @thread display @state created @reenter none @owns borrows run @since 1.0 */
  loupe_status (*begin)(void* self, const loupe_run* run, loupe_error* error);
  /* Before the tag's first value, in a tick or between two. A tag with the same id replaces the earlier one. */
  /* @thread display @state begun @reenter none @owns borrows tag @since 1.0 */
  loupe_status (*tag)(void* self, const loupe_tag* tag, loupe_error* error);
  /* A tick begins. Rows and histograms until end_tick belong to it. */
  /* @thread display @state begun @reenter none @owns borrows tick @since 1.0 */
  loupe_status (*begin_tick)(void* self, const loupe_tick* tick, loupe_error* error);
  /* A tag and layer may have several rows in a tick. */
  /* @thread display @state in a tick @reenter none @owns borrows row @since 1.0 */
  loupe_status (*row)(void* self, const loupe_row* row, loupe_error* error);
  /* A tag, layer and line have at most one histogram in a tick. */
  /* @thread display @state in a tick @reenter none @owns borrows histogram @since 1.0 */
  loupe_status (*histogram)(void* self, const loupe_histogram* histogram, loupe_error* error);
  /* The tick is complete. May return before it is shown or stored. */
  /* @thread display @state in a tick @reenter none @owns nothing @since 1.0 */
  loupe_status (*end_tick)(void* self, loupe_error* error);
  /* Returns when everything so far is shown or stored, and survives if the process is killed. */
  /* @thread display @state begun @reenter none @owns nothing @since 1.0 */
  loupe_status (*flush)(void* self, loupe_error* error);
  /* A few times a second while the model trains; skipped while the previous one is still queued. */
  /* @thread display @state begun @reenter none @owns borrows progress @since 1.0 */
  loupe_status (*progress)(void* self, const loupe_progress* progress, loupe_error* error);
  /* A finding was raised, changed or resolved, in a tick or between two. */
  /* @thread display @state begun @reenter none @owns borrows finding @since 1.0 */
  loupe_status (*finding)(void* self, const loupe_finding* finding, loupe_error* error);
  /* Something happened, in a tick or between two. */
  /* @thread display @state begun @reenter none @owns borrows note @since 1.0 */
  loupe_status (*note)(void* self, const loupe_note* note, loupe_error* error);
  /* Called for each model, before the first tick after it was attached. */
  /* @thread display @state begun @reenter none @owns borrows model @since 1.0 */
  loupe_status (*model)(void* self, const loupe_model* model, loupe_error* error);
  /* A setting of the run, from an optimizer or from the trainer. The same name again replaces it. */
  /* @thread display @state begun @reenter none @owns borrows value @since 1.0 */
  loupe_status (*hyperparameter)(void* self, const loupe_option_value* value, loupe_error* error);
  /* The run is over, or continues without this visualizer. */
  /* @thread display @state begun @reenter none @owns borrows ending @since 1.0 */
  loupe_status (*end)(void* self, const loupe_ending* ending, loupe_error* error);
} loupe_visualizer;
