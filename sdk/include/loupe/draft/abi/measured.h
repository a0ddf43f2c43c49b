/* A draft: it may change or go without notice. Lenses that receive what the host measures for others. */
#pragma once

#include <loupe/abi/lens.h>

#define LOUPE_DRAFT_MEASURED_ID "loupe.measured/draft-1"

/* The extension LOUPE_DRAFT_MEASURED_ID of a loupe_lens, whose `self` is the first argument of `begin`. It causes no
 * measurement. The host asks for it once, after attach(). */
typedef struct loupe_draft_measured {
  uint32_t struct_size, reserved;
  /* Before the first event of a stream that is measured in one way: `name` is "conv1 parameter_gradient weight", the
   * same for each of two ways. It may come before the lens visits the module. Returns a handle for event(); null: the
   * stream's events are not sent. */
  /* @thread trainer or model @state attached @reenter none @owns the lens's, until forget(module) or the lens ends;
   * borrows both @since 1.0 */
  void* (*begin)(void* self, const loupe_module* module, const char* name);
  /* An event and its measurement. An event measured on a device comes first without a measurement, and again with it,
   * under the same number and with LOUPE_EVENT_DEFERRED. Be quick: it is called for each event, under the module's
   * lock. Do not allocate, and do not call the host. */
  /* @thread trainer or model @state in an event @reenter none @owns borrows event @since 1.0 */
  void (*event)(void* handle, const loupe_event* event);
} loupe_draft_measured;
