/* A draft: it may change or go without notice. Lenses that hear what the host measures for others. */
#pragma once

#include <loupe/abi/lens.h>

#define LOUPE_DRAFT_MEASURED_ID "loupe.measured/draft-1"

/* The extension LOUPE_DRAFT_MEASURED_ID of a loupe_lens, whose `self` is the first argument of `begin`. It causes no
 * measurement. The host asks for it once, before attach(). */
typedef struct loupe_draft_measured {
  uint32_t struct_size, reserved;
  /* Before the first event of a stream that is measured in one way: `name` is "conv1 parameter_gradient weight", and
   * the same where it is measured in two ways. Perhaps before the lens's visit of the module. Returns a handle for
   * event(); null: no event of it comes. */
  /* @thread trainer or model @state attached @reenter none @owns the lens's, until forget(module) or the lens ends;
   * borrows both @since 1.0 */
  void* (*begin)(void* self, const loupe_module* module, const char* name);
  /* An event and its measurement. What a device measures comes first without a measurement, and once more with it,
   * under the same number and with LOUPE_EVENT_DEFERRED. Quick: for each event, under the module's lock; allocates
   * nothing, and calls nothing of the host. */
  /* @thread trainer or model @state in an event @reenter none @owns borrows event @since 1.0 */
  void (*event)(void* handle, const loupe_event* event);
} loupe_draft_measured;
