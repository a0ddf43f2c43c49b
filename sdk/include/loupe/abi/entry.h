/* What a plugin exports, and what every other header needs: versions, growth, status and errors. */
#ifndef LOUPE_ABI_ENTRY_H
#define LOUPE_ABI_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_ABI_MAJOR 1u
#define LOUPE_ABI_MINOR 0u
#define LOUPE_MAGIC UINT64_C(0x004550554f4c0001) /* "LOUPE", then a byte that no text file begins with */

#if defined(_WIN32)
#define LOUPE_EXPORT __declspec(dllexport)
#else
#define LOUPE_EXPORT __attribute__((visibility("default")))
#endif

/* Whether a struct reaches to the end of a member: ask it before you read what is newer than 1.0. */
#define LOUPE_REACHES(STRUCT, MEMBER) \
  ((STRUCT).struct_size >= (size_t)((const char*)(&(STRUCT).MEMBER + 1) - (const char*)&(STRUCT)))
/* The same for a pointer, which must not be null either: ask it before you call what is optional. */
#define LOUPE_OFFERS(STRUCT, MEMBER) (LOUPE_REACHES(STRUCT, MEMBER) && (STRUCT).MEMBER != NULL)

/* Sets of flags leave their upper bits, from this one on, to drafts (loupe/draft); so do the taps from LOUPE_TAP_DRAFTS
 * on. The core will never use them: LOUPE_EVENT_DRAFTS, LOUPE_MEASURE_DRAFTS, LOUPE_MODULE_DRAFTS,
 * LOUPE_PARAMETER_DRAFTS. */
#define LOUPE_DRAFT_SHIFT 16

typedef int32_t loupe_status;
enum {
  LOUPE_OK = 0,
  LOUPE_INVALID = 1,     /* an argument or option is wrong */
  LOUPE_NOT_FOUND = 2,   /* nothing has that name, or there is no data */
  LOUPE_UNSUPPORTED = 3, /* understood, but not offered here */
  LOUPE_FAILED = 4       /* anything else; the message says what */
};

typedef struct loupe_error {
  uint32_t struct_size;
  uint32_t capacity; /* bytes at `message`, the closing NUL included */
  char* message;     /* the caller's buffer; the callee writes one sentence, cut to fit */
} loupe_error;

enum { LOUPE_LOG_INFO = 0, LOUPE_LOG_WARNING = 1, LOUPE_LOG_ERROR = 2 };

/* The bootstrap. Frozen for good: never a member more, never one less. */
typedef struct loupe_entry {
  uint64_t magic; /* LOUPE_MAGIC */
  uint32_t abi_major;
  uint32_t abi_minor;
  /* Null for an id that the plugin does not offer. */
  /* @thread trainer @state always @reenter none @owns plugin owns the table, for good @since 1.0 */
  const void* (*get_interface)(const char* id);
} loupe_entry;

/* What a plugin exports, under the name that the macro gives. */
#define LOUPE_ENTRY_SYMBOL "loupe_plugin_entry"

#ifdef __cplusplus
}
#endif

#endif
