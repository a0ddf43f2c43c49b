/* A draft: it may change or go without notice. The settings in the text of a configuration. */
#pragma once

#include <loupe/abi/options.h>

#define LOUPE_DRAFT_SETTINGS_ID "loupe.settings/draft-1"

/* @thread any @state within a call of read @reenter none @owns borrows settings @since 1.0 */
typedef void (*loupe_draft_take_settings)(void* context, const loupe_options* settings);

/* Host service LOUPE_DRAFT_SETTINGS_ID. */
typedef struct loupe_draft_settings_service {
  uint32_t struct_size, reserved;
  /* Calls `take` with the settings in a YAML text, in the form of loupe_run's settings. INVALID, without a call, if the
   * text is not a configuration. */
  /* @thread any @state always @reenter take @owns borrows text @since 1.0 */
  loupe_status (*read)(void* context, const char* text, loupe_draft_take_settings take, void* take_context,
                       loupe_error* error);
} loupe_draft_settings_service;
