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

/* Whether a struct reaches to the end of a member: ask it before you read what is newer than 1.0. */
#define LOUPE_REACHES(STRUCT, MEMBER) \
  ((STRUCT).struct_size >= (size_t)((const char*)(&(STRUCT).MEMBER + 1) - (const char*)&(STRUCT)))
/* The same for a pointer, which must not be null either: ask it before you call what is optional. */
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

/* Where a call that fails writes its sentence. Who does not want it gives null in place of a pointer to one. */
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

/* A plugin may also say in its file which components it has. Then a host knows without running any of it, and opens
 * only the plugins that it needs; one that says nothing is opened where a name is found nowhere else. It is a note as
 * ELF files have them: the only one in the section LOUPE_ELF_SECTION, aligned to 4 bytes, in the file's byte order; a
 * loupe_elf_note and behind it a text, closed by a zero and filled with zeros to whole words of 4 bytes. The text has a
 * line for each component, each line with its end: the interface's id, a space and the name,
 *   loupe.lens/1 dead_units
 * and " +" behind it where the component has aliases, which stand in no note. All components are there or none. A
 * reader takes a note of another version for none. It refuses the file where the note is cut short, is not alone, has
 * more than 1 MiB, is not like this, or names other components than there are. Files of other formats, Mach-O and PE,
 * have no note: a host opens such a plugin to see what it has. */
#define LOUPE_ELF_SECTION ".note.loupe"
#define LOUPE_ELF_NAME "Loupe"
#define LOUPE_ELF_VERSION 1u

typedef struct loupe_elf_note {
  uint32_t name_size; /* sizeof LOUPE_ELF_NAME */
  uint32_t text_size; /* with the closing zero, without those that fill */
  uint32_t version;   /* LOUPE_ELF_VERSION; ELF calls it the type */
  char name[8];       /* LOUPE_ELF_NAME, filled with zeros */
} loupe_elf_note;

/* The note in C, at file scope, of one literal: LOUPE_ELF_NOTE(LOUPE_LENS_ID " dead_units\n"). C++ has LOUPE_PLUGIN. */
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
