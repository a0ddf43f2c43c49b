/* A draft: it may change or go without notice. Flags of options that name other components, of the bits that the core
 * leaves to drafts: the host checks what is given, and `loupe describe` tells it. */
#pragma once

#include <loupe/abi/options.h>

enum {
  LOUPE_DRAFT_OPTION_GATHERER = 1u << 16,     /* a string: the name of a gatherer */
  LOUPE_DRAFT_OPTION_PREPROCESSOR = 1u << 17, /* a string: the name of a preprocessor */
  LOUPE_DRAFT_OPTION_OPTIONS = 1u << 18 /* a map: options of the component that the last such option before it names */
};
