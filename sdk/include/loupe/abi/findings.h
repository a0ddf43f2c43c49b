/* Findings: what is wrong, in words. */
#ifndef LOUPE_ABI_FINDINGS_H
#define LOUPE_ABI_FINDINGS_H

#include <loupe/abi/modules.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOUPE_SEVERITY_INFO = 1, LOUPE_SEVERITY_WARNING = 2, LOUPE_SEVERITY_ERROR = 3 };
enum {
  LOUPE_FINDING_RAISED = 1,  /* new */
  LOUPE_FINDING_CHANGED = 2, /* still there, and its severity or figures are others */
  LOUPE_FINDING_GONE = 3     /* over */
};

/* What is wrong, in words. Rule, module and parameter identify it: told again, it replaces the one before. */
typedef struct loupe_finding {
  uint32_t struct_size;
  uint32_t severity; /* LOUPE_SEVERITY_ */
  uint32_t state;    /* LOUPE_FINDING_ */
  uint32_t reserved;
  const char* rule;           /* snake_case: "vanishing_gradient" */
  const loupe_module* module; /* null where it concerns no one module */
  const char* layer;          /* the module as shown; null: the module's name */
  const char* parameter;      /* or null */
  const char* message;        /* one sentence: what is wrong, with its figures */
  const char* advice;         /* one sentence: what to do; null where nothing can be said */
  const char* tag;            /* the plot that shows it; or null */
  const char* source;         /* who found it; the host fills it in */
  double value, threshold;    /* NaN where there is none */
  uint64_t first_step, last_step;
  double first_epoch, last_epoch;
  uint64_t count; /* how often it was seen, at least 1 */
} loupe_finding;

#ifdef __cplusplus
}
#endif

#endif
