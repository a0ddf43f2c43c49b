/* What lenses report and visualizers show: tags, rows of numbers, histograms. */
#pragma once

#include <loupe/abi/modules.h>

enum { LOUPE_SCALE_NUMERICAL = 0, LOUPE_SCALE_PROBABILITY = 1, LOUPE_SCALE_RELATION = 2 };

enum {
  LOUPE_TAG_LOG_Y = 1u << 0,       /* a logarithmic axis */
  LOUPE_TAG_BIG = 1u << 1,         /* one plot for the whole model, not one for each layer */
  LOUPE_TAG_ANNOTATE = 1u << 2,    /* label the lines at their ends */
  LOUPE_TAG_HAS_MINIMUM = 1u << 3, /* the axis begins at y_minimum; without it, as the data needs */
  LOUPE_TAG_HAS_MAXIMUM = 1u << 4, /* the axis ends at y_maximum */
  /* Several lenses may report it, each with this flag: lines with different names, or the same numbers. */
  LOUPE_TAG_SHARED = 1u << 5
};

/* A plot, or a family of plots with one for each layer. It belongs to the lens that reported it first: another lens
 * that reports it or its numbers gets LOUPE_INVALID, unless both set it shared. A lens may report its tag again. */
typedef struct loupe_tag {
  uint32_t struct_size;
  uint32_t type;  /* LOUPE_SCALE_: the scale of the numbers */
  uint32_t flags; /* LOUPE_TAG_ bits */
  uint32_t reserved;
  const char* id;    /* the name that values refer to; not null */
  const char* title; /* "Weight Gradient Norm"; null: the id */
  const char* unit;  /* "s", "samples/s"; null if the number has none */
  /* For people, one or two sentences each, each may be null: what it is, with its formula; what is healthy; what to do
   * if it is not. */
  const char* description;
  const char* healthy;
  const char* advice;
  double y_minimum, y_maximum; /* read only with LOUPE_TAG_HAS_MINIMUM and _MAXIMUM */
} loupe_tag;

/* The most numbers of single steps that a tag takes at one tick. A row beyond that gets LOUPE_INVALID: fold some steps
 * into one, or report fewer steps. */
#define LOUPE_MOST_STEP_NUMBERS 65536u

/* Numbers of one layer in a tag, each a named value or a named band. They may come in several rows. */
typedef struct loupe_row {
  uint32_t struct_size, reserved;
  const char* tag;   /* its id */
  const char* layer; /* the module's name, as shown; null for a big plot */
  uint64_t events;   /* the number of events behind the numbers; 0 if a lens does not say */
  size_t value_count;
  const char* const* value_names; /* "mean"; null if there are none; so for the next three */
  const double* values;
  size_t band_count;
  const char* const* band_names; /* two for each band, for its low and high end: "min", "max" */
  const double* bands;           /* two for each band, low and high */
  uint64_t step; /* the step they belong to, as loupe_moment counts, after the previous tick; 0: the whole tick */
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
