/* The run: what it is, its notes, its progress, its end. */
#pragma once

#include <loupe/abi/options.h>

#define LOUPE_RUN_ID "loupe.run/1"

/* Where a run is. Held by value by what tells of a moment, so it is frozen for good: never a member more. */
typedef struct loupe_moment {
  uint64_t step; /* steps of the run's clock so far; the first attached optimizer counts unless told. A resumed run
                    goes on where its trainer's loop over steps says, or, with a loop over epochs and under `loupe run`,
                    behind the steps that its record has; else it begins with 0 */
  double epoch; /* where the struct does not say which: the one being trained; may be a fraction. Where ticks come every
                   so many steps or seconds, the tick's number, from 1 */
  double time;  /* seconds since 1970, UTC; 0 when unknown */
  double elapsed; /* seconds since the run's start */
} loupe_moment;

enum {
  LOUPE_NOTE_TRAINER = 1,    /* the trainer's own words */
  LOUPE_NOTE_QUARANTINE = 2, /* a lens was put aside */
  LOUPE_NOTE_COST = 3,       /* how often the host measures was changed */
  LOUPE_NOTE_GUESS = 4,      /* what an unknown program was taken to do; the user was told by the log */
  LOUPE_NOTE_INCIDENT = 5,   /* what the last steps measured was kept, and where; told by the log, too */
  LOUPE_NOTE_RANKS = 6,      /* of which processes the numbers are from now on; told by the log, too */
  LOUPE_NOTE_UNOBSERVED = 7  /* what of a program could not be seen, and so is not judged; told by the log, too */
};

/* Something that happened, to be marked on the time axis. */
typedef struct loupe_note {
  uint32_t struct_size;
  uint32_t kind; /* LOUPE_NOTE_ */
  const char* text;
  loupe_moment at;
  uint64_t finding; /* the number of the finding that it is about; 0: of none */
} loupe_note;

enum {
  LOUPE_RUN_RESUMED = 1u << 0, /* goes on in the same directory */
  LOUPE_RUN_INCIDENT = 1u << 1 /* the last steps before an incident: a tick a step, whose number is its `epoch`, too */
};

/* What a run is. Nothing of it, nor of what it points at, changes: a run that goes on elsewhere is told anew. Texts are
 * never null. */
typedef struct loupe_run {
  uint32_t struct_size;
  uint32_t flags; /* LOUPE_RUN_ */
  const char* name;
  const char* directory; /* "" when the run keeps no files */
  const char* config;    /* the YAML as read, to be kept or shown; "" when unknown */
  const char* loupe_version;
  const char* framework_version; /* "2.6.0"; "" without one, as in a replay */
  const char* started;           /* ISO 8601, UTC */
  double start_time;             /* the same in seconds since 1970 */
  int32_t rank, world_size;      /* of several processes that train together; 0 and 1 for one alone */
  const char* train_loss;        /* the names under which losses are pushed: "train_loss"; never empty */
  const char* validation_loss;
  /* What the configuration says, by dotted names in their order: "run.tick.steps", "lenses.output_norm.line". A text as
   * it is written, a list of texts, or true where it only names something: "lenses.health". Null when unknown. */
  const loupe_options* settings;
  const char* const* lenses; /* their components' names: "health"; null when there are none, or they are unknown */
  size_t lens_count;
  const char* framework; /* that trains: "libtorch"; "" without one */
} loupe_run;

/* Host service LOUPE_RUN_ID. */
typedef struct loupe_run_service {
  uint32_t struct_size, reserved;
  /* The run that the asking component is part of; null before there is one, as while a file is only validated. A later
   * call may give another one, where the run goes on in another folder. */
  /* @thread any @state always @reenter none @owns host's struct, as long as the inspector lives @since 1.0 */
  const loupe_run* (*run)(void* context);
} loupe_run_service;

typedef struct loupe_progress {
  uint32_t struct_size, reserved;
  loupe_moment at;
  double epochs;         /* 0 when unknown */
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
  loupe_moment at;
  const char* message; /* one sentence; null where there is nothing to add */
} loupe_ending;
