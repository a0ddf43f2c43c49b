/* A draft: it may change or go without notice. What a plugin still does as the process ends where nothing is safe. */
#pragma once

#include <loupe/abi/component.h>

#define LOUPE_DRAFT_LAST_WORDS_ID "loupe.last_words/draft-1"

/* Does what POSIX calls async-signal-safe, and nothing else: it is mostly called in a signal handler, perhaps several
 * times. `how`: "failed" or "interrupted"; `message`: any text; `step`: the run's steps so far. */
/* @thread any @state always @reenter none @owns borrows texts @since 1.0 */
typedef void (*loupe_draft_last_words)(void* place, const char* how, const char* message, uint64_t step);

/* Host service LOUPE_DRAFT_LAST_WORDS_ID. */
typedef struct loupe_draft_last_words_service {
  uint32_t struct_size, reserved;
  /* From now on `speak` is called as this process, and no forked child, ends by a fatal signal, by std::terminate or by
   * a signal to stop. A process has room for 16 of them; more are not called. */
  /* @thread any @state always @reenter none @owns speak, and place leads to static memory @since 1.0 */
  void (*add)(void* context, loupe_draft_last_words speak, void* place);
  /* Ends it for one that was added with this place. A call may be on its way. */
  /* @thread any @state always @reenter none @owns nothing @since 1.0 */
  void (*remove)(void* context, void* place);
} loupe_draft_last_words_service;
