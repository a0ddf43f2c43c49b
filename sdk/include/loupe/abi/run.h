/* The run: what it is, its notes, its progress, its end. */
#ifndef LOUPE_ABI_RUN_H
#define LOUPE_ABI_RUN_H

#include <loupe/abi/entry.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_RUN_ID "loupe.run/1"

enum {
  LOUPE_NOTE_TRAINER = 1,       /* the trainer's own words */
  LOUPE_NOTE_QUARANTINE = 2,    /* a lens was put aside */
  LOUPE_NOTE_LEARNING_RATE = 3, /* it changed by other than a smooth schedule */
  LOUPE_NOTE_COVERAGE = 4,      /* what cannot be seen */
  LOUPE_NOTE_COST = 5,          /* how often the host looks was changed */
  LOUPE_NOTE_GUESS = 6,         /* what an unknown program was taken to do; the user was told by the log */
  LOUPE_NOTE_INCIDENT = 7,      /* what the last steps measured was kept, and where; told by the log, too */
  LOUPE_NOTE_RANKS = 8          /* of which processes the numbers are from now on; told by the log, too */
};

/* Something that happened, to be marked on the time axis. */
typedef struct loupe_note {
  uint32_t struct_size;
  uint32_t kind; /* LOUPE_NOTE_ */
  const char* text;
  uint64_t step;
  double epoch;
  double time; /* seconds since 1970, UTC */
} loupe_note;

enum {
  LOUPE_RUN_RESUMED = 1u << 0, /* goes on in the same directory */
  LOUPE_RUN_INCIDENT = 1u << 1 /* the last steps before an incident: a tick a step, whose number is its `epoch`, too */
};

typedef struct loupe_run {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_RUN_ */
  const char* name;
  const char* directory; /* "" when the run keeps no files */
  const char* config;    /* the YAML as read */
  const char* loupe_version;
  const char* libtorch_version; /* "" without LibTorch */
  const char* started;          /* ISO 8601, UTC */
  double start_time;            /* the same in seconds since 1970 */
  int32_t rank, world_size;     /* of several processes that train together; 0 and 1 for one alone */
  const char* train_loss;       /* the names under which losses are pushed: "train_loss" */
  const char* validation_loss;
} loupe_run;

/* Host service LOUPE_RUN_ID. */
typedef struct loupe_run_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* The run that the asking component is part of; null before there is one, as while a file is only validated. */
  /* @thread trainer, model or display @state always @reenter none @owns host's struct, until the run changes
   * @since 1.0 */
  const loupe_run* (*run)(void* host);
} loupe_run_service;

typedef struct loupe_progress {
  uint32_t struct_size;
  uint32_t reserved;
  double epoch;          /* the one being trained */
  double epochs;         /* 0 when unknown */
  uint64_t step;         /* steps of the run's clock so far */
  uint64_t steps;        /* optimizer steps since the last tick */
  uint64_t steps_before; /* in the epoch before; 0 when unknown */
  double seconds;        /* since the last tick */
  double lens_seconds;   /* of them, what the lenses took; estimated from some of the events */
} loupe_progress;

enum {
  LOUPE_END_COMPLETED = 1,   /* all that was announced, or the inspector simply ended */
  LOUPE_END_INTERRUPTED = 2, /* the loop was left early */
  LOUPE_END_FAILED = 3       /* an exception or an abnormal end */
};

/* How a run ended. */
typedef struct loupe_ending {
  uint32_t struct_size;
  uint32_t how; /* LOUPE_END_ */
  uint64_t step;
  double epoch;
  double time;
  double elapsed;
  const char* message; /* one sentence; null where there is nothing to add */
} loupe_ending;

#ifdef __cplusplus
}
#endif

#endif
