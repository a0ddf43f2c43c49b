/* A draft: it may change or go without notice. Flags of options that name other components or files, of the bits that
 * the core leaves to drafts: the host checks the given names, and `loupe describe` shows them. A component asks for
 * this id at create; the answer is not read. Without it, the flags have no effect. */
#pragma once

#include <loupe/abi/options.h>

#define LOUPE_DRAFT_OPTION_NAMES_ID "loupe.option_names/draft-1"

enum {
  LOUPE_DRAFT_OPTION_GATHERER = 1u << 16,     /* a string: the name of a gatherer */
  LOUPE_DRAFT_OPTION_PREPROCESSOR = 1u << 17, /* a string: the name of a preprocessor */
  LOUPE_DRAFT_OPTION_OPTIONS = 1u << 18, /* a map: options of the component named by the last such option before it */
  LOUPE_DRAFT_OPTION_FILE = 1u << 19     /* a string: a file; a relative path starts at the configuration's folder */
};
