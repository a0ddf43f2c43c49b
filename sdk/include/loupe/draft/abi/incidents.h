/* A draft: it may change or go without notice. Lenses that keep the last steps before a fault. */
#pragma once

#include <loupe/abi/lens.h>

#define LOUPE_DRAFT_INCIDENTS_ID "loupe.incidents/draft-1"

/* The folder of an incident in its run's folder: this, followed by the number of a step. */
#define LOUPE_DRAFT_INCIDENT_FOLDER "incident-"

/* @thread that of write @state within a call of hold @reenter none @owns nothing @since 1.0 */
typedef void (*loupe_draft_while_held)(void* call_context);

/* Why an incident is written, and the state of the run. */
typedef struct loupe_draft_incident {
  uint32_t struct_size, reserved;
  const char* how; /* "finding", "dump", "rank", "terminate", "SIGTERM", … */
  const char* why; /* the finding's message, or the text of the trainer, the rank or the exception; or "" */
  const loupe_finding* finding; /* null unless the incident is written because of a finding */
  loupe_moment at;
  const loupe_optimizer* const* optimizers; /* the attached ones */
  const loupe_finding* const* findings;     /* all of the run so far */
  size_t optimizer_count, finding_count;
  void* context;
  /* Calls `call` while no event of the module (null: no push) is processed. NOT_FOUND, without a call, if such an event
   * does not end. */
  /* @thread that of write @state within a call of write @reenter call @owns borrows module @since 1.0 */
  loupe_status (*hold)(void* context, const loupe_module* module, loupe_draft_while_held call, void* call_context);
} loupe_draft_incident;

/* The extension LOUPE_DRAFT_INCIDENTS_ID of a loupe_lens, whose `self` is the functions' first argument. The host calls
 * the first lens that has it. */
typedef struct loupe_draft_incidents {
  uint32_t struct_size, reserved;
  /* A finding of the run. `writes`: whether write() is to follow once no lens is in a call. */
  /* @thread trainer or model @state attached @reenter none @owns borrows finding; caller's flag @since 1.0 */
  loupe_status (*finding)(void* self, const loupe_finding* finding, uint32_t* writes, loupe_error* error);
  /* Writes into the run's folder. `folder` becomes the path, or "" if the limit is reached. Also called as the process
   * ends, without the inspector's lock, on any thread, perhaps within a call of the lens: wait for no other thread. */
  /* @thread any @state attached @reenter hold @owns borrows incident; caller's buffer @since 1.0 */
  loupe_status (*write)(void* self, const loupe_draft_incident* incident, char* folder, size_t capacity,
                        loupe_error* error);
} loupe_draft_incidents;
