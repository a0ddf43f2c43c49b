/* What lenses report and visualizers show: tags, rows of numbers, histograms. */
#pragma once

#include <loupe/abi/modules.h>

enum { LOUPE_SCALE_NUMERICAL = 0, LOUPE_SCALE_PROBABILITY = 1, LOUPE_SCALE_RELATION = 2 };

enum {
  LOUPE_TAG_LOG_Y = 1u << 0,       /* a logarithmic axis */
  LOUPE_TAG_BIG = 1u << 1,         /* one plot for the whole model, not one a layer */
  LOUPE_TAG_ANNOTATE = 1u << 2,    /* label the lines at their ends */
  LOUPE_TAG_HAS_MINIMUM = 1u << 3, /* y_minimum is where the axis begins; without it, the data says */
  LOUPE_TAG_HAS_MAXIMUM = 1u << 4, /* y_maximum is where it ends */
  /* Several lenses may tell of it, each with this flag: lines of other names, or the same numbers. */
  LOUPE_TAG_SHARED = 1u << 5
};

/* A plot, or a family of plots with one a layer. It belongs to the lens that told it first: another one that tells it,
 * or numbers of it, is answered LOUPE_INVALID, unless both have it shared. A lens may tell its own anew. */
typedef struct loupe_tag {
  uint32_t struct_size;
  uint32_t type;  /* LOUPE_SCALE_: of the numbers */
  uint32_t flags; /* LOUPE_TAG_ bits */
  uint32_t reserved;
  const char* id;    /* what values name; not null */
  const char* title; /* "Weight Gradient Norm"; null: the id */
  const char* unit;  /* "s", "samples/s"; null where the number has none */
  /* For people, each a sentence or two, each may be null: what it is, with its formula; what is healthy; what to do
   * when it is not. */
  const char* description;
  const char* healthy;
  const char* advice;
  double y_minimum, y_maximum; /* read with LOUPE_TAG_HAS_MINIMUM and _MAXIMUM alone */
} loupe_tag;

/* How many numbers of single steps a tag takes at one tick. A row with more is answered LOUPE_INVALID: fold some steps
 * into one, or tell them less often. */
#define LOUPE_MOST_STEP_NUMBERS 65536u

/* Numbers of one layer in a tag, each a value or a band between two, with its name. They may come in several rows. */
typedef struct loupe_row {
  uint32_t struct_size, reserved;
  const char* tag;   /* its id */
  const char* layer; /* the module's name, as shown; null for a big plot */
  uint64_t events;   /* how many events the numbers are made of; 0 where a lens does not say */
  size_t value_count;
  const char* const* value_names; /* "mean"; null where there are none, as for the next three */
  const double* values;
  size_t band_count;
  const char* const* band_names; /* two for each, of the low and the high end: "min", "max" */
  const double* bands;           /* two for each, low and high */
  uint64_t step; /* that they belong to, as loupe_moment counts, of those since the tick before; 0: to the whole tick */
} loupe_row;

typedef struct loupe_histogram {
  uint32_t struct_size, reserved;
  const char* tag;
  const char* layer; /* null for a big plot */
  const char* line;
  const double* edges; /* bin_count + 1, ascending; may be infinite at both ends */
  const double* counts;
  size_t bin_count;
  uint64_t events;
} loupe_histogram;
