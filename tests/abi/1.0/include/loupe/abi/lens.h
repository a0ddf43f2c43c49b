/* Lenses: decide what to watch, and turn an epoch into tagged values. */
#pragma once

#include <loupe/abi/findings.h>
#include <loupe/abi/options.h>
#include <loupe/abi/preprocessor.h>
#include <loupe/abi/shown.h>
#include <loupe/abi/steps.h>

#define LOUPE_LENS_ID "loupe.lens/1"

typedef struct loupe_source loupe_source;

/* One stream that a lens wants: a gatherer by name, and a preprocessor by name or the lens's own. */
typedef struct loupe_watch {
  uint32_t struct_size, reserved;
  const loupe_module* module; /* null for pushed values */
  const char* gatherer;
  const loupe_options* gatherer_options;     /* may be null */
  const char* label;                         /* parameter or attribute; null if the gatherer needs none */
  const char* preprocessor;                  /* null: own_interface and own_preprocessor */
  const loupe_options* preprocessor_options; /* may be null */
  const loupe_preprocessor* own_interface;
  void* own_preprocessor; /* the lens's; outlives the source */
} loupe_watch;

enum {
  LOUPE_WIRING_STRICT = 1u << 0 /* a plugin is being tested: refuse mistakes of its author that training tolerates */
};

/* What a source skips for a while, so that its lens measures less often. */
enum {
  LOUPE_REST_EVENTS = 1u << 0 /* no events come; an event that nobody else takes costs one branch */
};
#define LOUPE_REST_DRAFTS 0xFFFF0000u /* left to drafts */

/* What a lens may do while it is attached. The functions that read a series hold its stream's lock, so no event changes
 * it meanwhile. */
typedef struct loupe_wiring {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_WIRING_ bits */
  void* context;
  /* Puts a preprocessor behind a gatherer; the source reads its numbers. */
  /* @thread trainer or model @state attaching or visiting @reenter request of its own preprocessor
   * @owns the source lives until its module is forgotten, or with the lens @since 1.0 */
  loupe_status (*watch)(void* context, const loupe_watch* watch, loupe_source** source, loupe_error* error);
  /* The number of series; may grow as events come. A series keeps its index. */
  /* @thread trainer or model @state always but in an event @reenter series_count of its own preprocessor @owns nothing
   * @since 1.0 */
  size_t (*series_count)(void* context, loupe_source* source);
  /* Finds the first series of that name. Otherwise NOT_FOUND, with a message that lists the names. */
  /* @thread trainer or model @state always but in an event @reenter series_count, read of its own preprocessor
   * @owns caller's index @since 1.0 */
  loupe_status (*find)(void* context, loupe_source* source, const char* name, size_t* index, loupe_error* error);
  /* See loupe_preprocessor, also for the next two. Only the row's size needs to be set. */
  /* @thread trainer or model @state always but in an event @reenter read of its own preprocessor
   * @owns caller's struct; the name lives as long as the source @since 1.0 */
  loupe_status (*read)(void* context, loupe_source* source, size_t index, loupe_series* row, loupe_error* error);
  /* UNSUPPORTED also where the preprocessor has no such function. */
  /* @thread trainer or model @state always but in an event @reenter quantiles of its own preprocessor
   * @owns caller's `q_count` doubles @since 1.0 */
  loupe_status (*quantiles)(void* context, loupe_source* source, size_t index, const double* q, size_t q_count,
                            double* values, loupe_error* error);
  /* UNSUPPORTED also where the preprocessor has no such function. */
  /* @thread trainer or model @state always but in an event @reenter values of its own preprocessor @owns caller's
   * buffer @since 1.0 */
  loupe_status (*values)(void* context, loupe_source* source, size_t index, double* values, size_t capacity,
                         size_t* count, loupe_error* error);
  /* From the next event on, the source skips `what`, LOUPE_REST_ bits. With 0 it gets everything again; comparisons
   * with earlier events start again if nobody measured meanwhile. */
  /* @thread trainer or model @state attaching, visiting, stepping or reporting @reenter none @owns nothing
   * @since 1.0 */
  loupe_status (*rest)(void* context, loupe_source* source, uint32_t what, loupe_error* error);
  /* What the host offers a lens beyond this table. */
  /* @thread any @state always @reenter none @owns host owns the table @since 1.0 */
  const void* (*get_extension)(void* context, const char* id);
} loupe_wiring;

/* Where a lens reports. A tag is reported before its first value, and may be reported again at each report: the host
 * drops repetitions. Within a tick there is one value for each tag, layer, name and step, one band for each tag, layer,
 * pair of names and step, and one histogram for each tag, layer and line. A second one gets LOUPE_INVALID; values
 * before it in its row are kept. */
typedef struct loupe_sink {
  uint32_t struct_size, reserved;
  void* context;
  /* Describes a plot: its title, unit and axes. */
  /* @thread trainer @state reporting @reenter none @owns borrows tag @since 1.0 */
  loupe_status (*tag)(void* context, const loupe_tag* tag, loupe_error* error);
  /* Numbers of one layer. */
  /* @thread trainer @state reporting @reenter none @owns borrows row @since 1.0 */
  loupe_status (*row)(void* context, const loupe_row* row, loupe_error* error);
  /* Counts of one layer and line. */
  /* @thread trainer @state reporting @reenter none @owns borrows histogram @since 1.0 */
  loupe_status (*histogram)(void* context, const loupe_histogram* histogram, loupe_error* error);
  /* Reports a finding. Also between ticks, in `step`. */
  /* @thread trainer or model @state stepping or reporting @reenter none @owns borrows finding @since 1.0 */
  loupe_status (*finding)(void* context, const loupe_finding* finding, loupe_error* error);
  /* What the host offers beyond this table. */
  /* @thread any @state always @reenter none @owns host owns the table @since 1.0 */
  const void* (*get_extension)(void* context, const char* id);
} loupe_sink;

/* LOUPE_LENS_ID: decides which modules to watch, and turns an epoch into tagged values. If a lens runs a model in one
 * of these calls, it may get a visit before the call returns, for a function seen there; if it trains the model in its
 * report, a step. */
typedef struct loupe_lens {
  uint32_t struct_size, reserved;
  /* What the lens offers beyond this table. Optional. */
  /* @thread trainer @state created @reenter none @owns component owns the table @since 1.0 */
  const void* (*get_extension)(void* self, const char* id);
  /* Once, before the first module. */
  /* @thread trainer @state created @reenter visit @owns wiring outlives the lens @since 1.0 */
  loupe_status (*attach)(void* self, const loupe_wiring* wiring, loupe_error* error);
  /* Each module, parents before children; functions when they first run. */
  /* @thread trainer or model @state attached @reenter visit @owns borrows module, see loupe_module @since 1.0 */
  loupe_status (*visit)(void* self, const loupe_module* module, loupe_error* error);
  /* The module is detached: its sources end with this call. Optional. */
  /* @thread trainer @state attached @reenter none @owns nothing @since 1.0 */
  void (*forget)(void* self, const loupe_module* module);
  /* After each step of an attached optimizer, also one that is not measured (attach.every, attach.budget), while the
   * lens does not rest; on the thread that took the step: be quick, training waits. LOUPE_STEP_MEASURED marks the steps
   * whose events reached the sources. The sink takes only findings. Optional: without it, steps cost nothing. */
  /* @thread model @state attached @reenter visit @owns borrows step and sink @since 1.0 */
  loupe_status (*step)(void* self, const loupe_step* step, const loupe_sink* sink, loupe_error* error);
  /* The epoch, or interval of steps, is over. Afterwards the host resets the lens's sources. */
  /* @thread trainer @state attached @reenter visit, step @owns borrows tick and sink @since 1.0 */
  loupe_status (*report)(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error);
} loupe_lens;
