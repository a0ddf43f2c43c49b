/* Findings: what is wrong, in words. */
#pragma once

#include <loupe/abi/modules.h>

enum { LOUPE_SEVERITY_INFO = 1, LOUPE_SEVERITY_WARNING = 2, LOUPE_SEVERITY_ERROR = 3 };
enum {
  LOUPE_FINDING_RAISED = 1,  /* new */
  LOUPE_FINDING_CHANGED = 2, /* still there, and its severity or figures are others */
  LOUPE_FINDING_GONE = 3     /* over */
};
enum {
  LOUPE_FINDING_HAS_VALUE = 1u << 0,     /* `value` is one */
  LOUPE_FINDING_HAS_THRESHOLD = 1u << 1, /* `threshold` is one */
  LOUPE_FINDING_OVER = 1u << 2           /* a lens says by it that the finding is over; visualizers see the state */
};

/* What is wrong, in words. Who found it (the lens), rule, layer and parameter identify it: told again, it replaces the
 * one before. Rules of two lenses that have one name are two rules. What is the host's to say, `id`, `state` and
 * `source`, a lens leaves 0 or null: it is answered LOUPE_INVALID where it sets id or state, and what it writes into
 * source is replaced. */
typedef struct loupe_finding {
  uint32_t struct_size;
  uint32_t severity; /* LOUPE_SEVERITY_; 0: a warning */
  uint32_t flags;    /* LOUPE_FINDING_HAS_VALUE, _HAS_THRESHOLD, _OVER */
  uint32_t state;    /* LOUPE_FINDING_RAISED, _CHANGED, _GONE; the host fills it in */
  /* Its number, of at most 53 bits; the host fills it in. The same identity has the same number as long as the run goes
   * on, in all of its processes. */
  uint64_t id;
  const char* rule;           /* snake_case: "vanishing_gradient"; not null */
  const loupe_module* module; /* null where it concerns no one module */
  const char* layer;          /* the module as shown; null: the module's name */
  const char* parameter;      /* or null */
  const char* message;        /* one sentence: what is wrong, with its figures; not null */
  const char* advice;         /* one sentence: what to do; null where nothing can be said */
  const char* tag;            /* the plot that shows it; or null */
  const char* source;         /* who found it: "the lens 'x'"; the host fills it in */
  const char* caused_by;      /* the rule of a finding of the same lens from which this may follow; or null */
  /* Where in the program's source to look: where the layer is called, the loss computed, or a step taken. The host
   * fills it in where a lens leaves it null; it is null where nobody knows. */
  const char* file;
  uint32_t line; /* in that file, from 1; 0 where nobody knows */
  uint32_t reserved;
  double value, threshold; /* what was seen, and what is allowed */
  uint64_t first_step, last_step;
  double first_epoch, last_epoch;
  uint64_t count; /* how often it was seen, at least 1 */
} loupe_finding;
