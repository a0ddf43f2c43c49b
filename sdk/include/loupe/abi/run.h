/* The run: what it is, its notes, its progress, its end. */
#pragma once

#include <loupe/abi/options.h>

#define LOUPE_RUN_ID "loupe.run/1"

/* Where a run is. Other structs hold it by value, so it is frozen: it never gets another member. */
typedef struct loupe_moment {
  uint64_t step;  /* steps of the run's clock so far, counted by the first attached optimizer by default. A resumed run
                     continues at the step of its trainer's loop over steps; with a loop over epochs and under `loupe
                     run`, after the steps in its record; else it begins with 0 */
  double epoch;   /* the epoch being trained, unless the struct says otherwise; may be a fraction. If ticks come every n
                     steps or seconds: the tick's number, from 1 */
  double time;    /* seconds since 1970, UTC; 0 if unknown */
  double elapsed; /* seconds since the run's start */
} loupe_moment;

enum {
  LOUPE_NOTE_TRAINER = 1,    /* the trainer's own words */
  LOUPE_NOTE_QUARANTINE = 2, /* a lens was disabled */
  LOUPE_NOTE_COST = 3,       /* the host now measures more or fewer steps */
  LOUPE_NOTE_GUESS = 4,      /* an assumption about an unknown program; also in the log */
  LOUPE_NOTE_INCIDENT = 5,   /* the measurements of the last steps were saved, and where; also in the log */
  LOUPE_NOTE_RANKS = 6,      /* which processes the numbers are from, from now on; also in the log */
  LOUPE_NOTE_UNOBSERVED = 7  /* a part of the program that could not be observed and is not judged; also in the log */
};

/* Something that happened, to mark on the time axis. */
typedef struct loupe_note {
  uint32_t struct_size;
  uint32_t kind; /* LOUPE_NOTE_ */
  const char* text;
  loupe_moment at;
  uint64_t finding; /* the number of the finding that it is about; 0: none */
} loupe_note;

enum {
  LOUPE_RUN_RESUMED = 1u << 0, /* continues in the same directory */
  LOUPE_RUN_INCIDENT = 1u << 1 /* the steps before an incident: one tick for each, its `epoch` is the step's number */
};

/* A run. It never changes, nor does what it points at: a run that continues elsewhere is a new one. Texts are never
 * null. */
typedef struct loupe_run {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_RUN_ */
  const char* name;
  const char* directory; /* "" if the run keeps no files */
  const char* config;    /* the YAML as read, to keep or show; "" if unknown */
  const char* loupe_version;
  const char* framework_version; /* "2.6.0"; "" without a framework, as in a replay */
  const char* started;           /* ISO 8601, UTC */
  double start_time;             /* the same in seconds since 1970 */
  int32_t rank, world_size;      /* of several processes that train together; 0 and 1 for a single one */
  const char* train_loss;        /* the names under which losses are pushed: "train_loss"; never empty */
  const char* validation_loss;
  /* The settings of the configuration, by dotted names in their order: "run.tick.steps", "lenses.output_norm.line". A
   * text as written, a list of texts, or true if it only names something: "lenses.health". Null if unknown. */
  const loupe_options* settings;
  const char* const* lenses; /* their components' names: "health"; null if there are none, or they are unknown */
  size_t lens_count;
  const char* framework; /* the framework that trains: "libtorch"; "" without one */
} loupe_run;

/* Host service LOUPE_RUN_ID. */
typedef struct loupe_run_service {
  uint32_t struct_size, reserved;
  /* The run that the asking component is part of; null before there is one, for example while a file is only validated.
   * A later call may return another one, if the run continues in another folder. */
  /* @thread any @state always @reenter none @owns host's struct, as long as the inspector lives @since 1.0 */
  const loupe_run* (*run)(void* context);
} loupe_run_service;

typedef struct loupe_progress {
  uint32_t struct_size, reserved;
  loupe_moment at;
  double epochs;         /* 0 when unknown */
  uint64_t steps;        /* optimizer steps since the last tick */
  uint64_t steps_before; /* in the previous epoch; 0 if unknown */
  double seconds;        /* since the last tick */
  double lens_seconds;   /* the part of them that lenses took; estimated from some of the events */
} loupe_progress;

enum {
  LOUPE_END_COMPLETED = 1,   /* all announced epochs or steps ran, or the inspector simply ended */
  LOUPE_END_INTERRUPTED = 2, /* the loop was left early */
  LOUPE_END_FAILED = 3       /* an exception or an abnormal end */
};

/* How a run ended. */
typedef struct loupe_ending {
  uint32_t struct_size;
  uint32_t how; /* LOUPE_END_ */
  loupe_moment at;
  const char* message; /* one sentence, or null */
} loupe_ending;
