/* What a plugin exports, and what every other header needs: versions, growth, status and errors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LOUPE_ABI_MAJOR 1u
#define LOUPE_ABI_MINOR 0u
#define LOUPE_MAGIC UINT64_C(0x004550554f4c0001) /* "LOUPE", then a byte that no text file begins with */

#if defined(_WIN32)
#define LOUPE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define LOUPE_EXPORT __attribute__((visibility("default")))
#else
#define LOUPE_EXPORT
#endif

/* Whether a struct contains a whole member: test it before you read a member newer than 1.0. */
#define LOUPE_REACHES(STRUCT, MEMBER) \
  ((STRUCT).struct_size >= (size_t)((const char*)(&(STRUCT).MEMBER + 1) - (const char*)&(STRUCT)))
/* The same for a pointer that must also not be null: test it before you call an optional function. */
#define LOUPE_OFFERS(STRUCT, MEMBER) (LOUPE_REACHES(STRUCT, MEMBER) && (STRUCT).MEMBER != NULL)

/* Sets of flags leave their upper bits, from this one on, to drafts (loupe/draft); so do the taps from LOUPE_TAP_DRAFTS
 * on. The core will never use them: LOUPE_EVENT_DRAFTS, LOUPE_MEASURE_DRAFTS, LOUPE_MODULE_DRAFTS, LOUPE_OPTION_DRAFTS,
 * LOUPE_PARAMETER_DRAFTS, LOUPE_REST_DRAFTS. */
#define LOUPE_DRAFT_SHIFT 16

typedef int32_t loupe_status;
enum {
  LOUPE_OK = 0,
  LOUPE_INVALID = 1,     /* an argument or option is wrong */
  LOUPE_NOT_FOUND = 2,   /* nothing has that name, or there is no data */
  LOUPE_UNSUPPORTED = 3, /* understood, but not offered here */
  LOUPE_FAILED = 4       /* anything else; the message says what */
};

/* Where a call that fails writes its message. A caller that does not want the message passes a null pointer. */
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
  /* LOUPE_PLUGIN_ID gives the loupe_plugin. */
  /* @thread trainer @state always @reenter none @owns plugin owns the table, for good @since 1.0 */
  const void* (*get_extension)(const char* id);
} loupe_entry;

/* What a plugin exports, under the name that the macro gives. */
#define LOUPE_ENTRY_SYMBOL "loupe_plugin_entry"

/* A plugin may also say in its file which components it has. Then a host knows them without running any code of it, and
 * opens only the plugins that it needs; a plugin without a note is opened only if a name is found nowhere else. It is
 * an ELF note, the only one in the section LOUPE_ELF_SECTION, aligned to 4 bytes, in the file's byte order; a
 * loupe_elf_note followed by a text, terminated by a zero and padded with zeros to whole words of 4 bytes. The text has
 * one line for each component, each ended by a newline: the interface's id, a space and the name,
 *   loupe.lens/1 dead_units
 * followed by " +" if the component has aliases, which no note lists. The note lists all components or none. A reader
 * ignores a note of another version. It refuses the file if the note is cut short, is not the only one, has more than 1
 * MiB, has another form, or names other components than the plugin has. Files of other formats (Mach-O, PE) have no
 * note: a host opens such a plugin to see what it contains. */
#define LOUPE_ELF_SECTION ".note.loupe"
#define LOUPE_ELF_NAME "Loupe"
#define LOUPE_ELF_VERSION 1u

typedef struct loupe_elf_note {
  uint32_t name_size; /* sizeof LOUPE_ELF_NAME */
  uint32_t text_size; /* with the terminating zero, without padding */
  uint32_t version;   /* LOUPE_ELF_VERSION; ELF calls it the type */
  char name[8];       /* LOUPE_ELF_NAME, filled with zeros */
} loupe_elf_note;

/* The note in C, at file scope: LOUPE_ELF_NOTE(LOUPE_LENS_ID " dead_units\n"), one literal. C++ has LOUPE_PLUGIN. */
#if defined(__ELF__)
#define LOUPE_ELF_NOTE(LINES)                                                         \
  static const struct {                                                               \
    loupe_elf_note head;                                                              \
    char text[(sizeof(LINES) + 3) / 4 * 4];                                           \
  } loupe_elf_note_ __attribute__((section(LOUPE_ELF_SECTION), used, aligned(4))) = { \
      {sizeof(LOUPE_ELF_NAME), sizeof(LINES), LOUPE_ELF_VERSION, LOUPE_ELF_NAME}, LINES}
#else
#define LOUPE_ELF_NOTE(LINES) struct loupe_elf_note /* declared again, so that a semicolon may follow */
#endif
