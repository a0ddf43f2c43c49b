/* Findings: what is wrong, in words. */
#pragma once

#include <loupe/abi/modules.h>

enum { LOUPE_SEVERITY_INFO = 1, LOUPE_SEVERITY_WARNING = 2, LOUPE_SEVERITY_ERROR = 3 };
enum {
  LOUPE_FINDING_RAISED = 1,  /* new */
  LOUPE_FINDING_CHANGED = 2, /* still open, with another severity or other figures */
  LOUPE_FINDING_GONE = 3     /* resolved */
};
enum {
  LOUPE_FINDING_HAS_VALUE = 1u << 0,     /* `value` is set */
  LOUPE_FINDING_HAS_THRESHOLD = 1u << 1, /* `threshold` is set */
  LOUPE_FINDING_OVER = 1u << 2           /* a lens sets it when the finding is resolved; visualizers see the state */
};

/* What is wrong, in words. The lens that found it, rule, layer and parameter identify it: one with the same identity
 * replaces the earlier one. Rules of two lenses with the same name are two rules. The host sets `id`, `state` and
 * `source`, and a lens leaves them 0 or null: a lens that sets id or state gets LOUPE_INVALID, and its source is
 * replaced. */
typedef struct loupe_finding {
  uint32_t struct_size;
  uint32_t severity; /* LOUPE_SEVERITY_; 0: a warning */
  uint32_t flags;    /* LOUPE_FINDING_HAS_VALUE, _HAS_THRESHOLD, _OVER */
  uint32_t state;    /* LOUPE_FINDING_RAISED, _CHANGED, _GONE; the host fills it in */
  /* Its number, of at most 53 bits; the host fills it in. The same identity has the same number throughout the run, in
   * all of its processes. */
  uint64_t id;
  const char* rule;           /* snake_case: "vanishing_gradient"; not null */
  const loupe_module* module; /* null if it concerns no single module */
  const char* layer;          /* the module as shown; null: the module's name */
  const char* parameter;      /* or null */
  const char* message;        /* one sentence: what is wrong, with its figures; not null */
  const char* advice;         /* one sentence: what to do; or null */
  const char* tag;            /* the plot that shows it; or null */
  const char* source;         /* who found it: "the lens 'x'"; the host fills it in */
  const char* caused_by;      /* the rule of a finding of the same lens that may have caused this one; or null */
  /* Where in the program's source to look: where the layer is called, the loss computed, or a step taken. The host
   * fills it in if a lens leaves it null; null if unknown. */
  const char* file;
  uint32_t line; /* in that file, from 1; 0 if unknown */
  uint32_t reserved;
  double value, threshold; /* the measured value, and the limit */
  uint64_t first_step, last_step;
  double first_epoch, last_epoch;
  uint64_t count; /* how often it was seen, at least 1 */
} loupe_finding;
