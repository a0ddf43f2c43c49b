/* Options: those a component declares, and the values it is given. */
#pragma once

#include <loupe/abi/entry.h>

enum {
  LOUPE_TYPE_BOOLEAN = 1,
  LOUPE_TYPE_INTEGER = 2,
  LOUPE_TYPE_NUMBER = 3,
  LOUPE_TYPE_STRING = 4,
  LOUPE_TYPE_STRINGS = 5, /* a list of strings; YAML's `none` is the empty list */
  LOUPE_TYPE_MAP = 6      /* named values, read by the component itself */
};

struct loupe_options;

typedef struct loupe_option_value {
  uint32_t struct_size;
  uint32_t type;
  const char* name;
  int64_t integer;    /* a boolean is 0 or 1 */
  double number;      /* also filled for an integer */
  const char* string; /* the value of a string; null for other types, like the next two */
  const char* const* strings;
  size_t string_count;
  const struct loupe_options* map;
} loupe_option_value;

typedef struct loupe_options {
  uint32_t struct_size, reserved;
  const loupe_option_value* const* values;
  size_t value_count;
} loupe_options;

enum {
  LOUPE_OPTION_REQUIRED = 1u << 0,    /* must be given; has no default */
  LOUPE_OPTION_HAS_MINIMUM = 1u << 1, /* `minimum` is the lowest number allowed; without it, there is none */
  LOUPE_OPTION_HAS_MAXIMUM = 1u << 2  /* `maximum` is the highest number allowed */
};
#define LOUPE_OPTION_DRAFTS 0xFFFF0000u /* left to drafts */

/* One option that a component declares. Validation, `loupe describe` and the reference come from this table. */
typedef struct loupe_option {
  uint32_t struct_size;
  uint32_t type;
  uint32_t flags; /* LOUPE_OPTION_ bits */
  uint32_t reserved;
  const char* name;
  const char* help;                        /* one line */
  const loupe_option_value* default_value; /* of the same type; its name is not read; null: false, 0, "" or empty */
  double minimum, maximum;                 /* read only with LOUPE_OPTION_HAS_MINIMUM and _MAXIMUM */
  const char* const* choices;              /* for strings; null if any string is allowed */
  size_t choice_count;
} loupe_option;
