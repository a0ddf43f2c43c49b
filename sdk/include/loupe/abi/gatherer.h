/* Gatherers: subscribe to taps of one module. */
#pragma once

#include <loupe/abi/events.h>

#define LOUPE_GATHERER_ID "loupe.gatherer/1"

/* The tap that a gatherer subscribes to. */
typedef struct loupe_subscription {
  uint32_t struct_size;
  uint32_t tap;
  const char* label; /* null if the tap has none */
  uint32_t index;    /* which output or input, from 0, for the taps of outputs, inputs and their gradients */
  uint32_t reserved;
} loupe_subscription;

/* What a gatherer may do with the module it was opened on. */
typedef struct loupe_taps {
  uint32_t struct_size, reserved;
  void* context;
  /* NOT_FOUND if the module has no such parameter or attribute. */
  /* @thread trainer or model @state opening @reenter none @owns borrows subscription @since 1.0 */
  loupe_status (*subscribe)(void* context, const loupe_subscription* subscription, loupe_error* error);
  /* Sends an event, received or made by the gatherer, to the preprocessors behind this gatherer. The host measures the
   * tensor that the event has now, which the gatherer may have replaced, and compares it with the tensor emitted
   * before. A measurement that the event already has is ignored. The received tensor is lent, so do not write to it. */
  /* @thread trainer or model @state in an event @reenter process @owns borrows event @since 1.0 */
  loupe_status (*emit)(void* context, const loupe_event* event, loupe_error* error);
  /* What the taps offer beyond this table. */
  /* @thread any @state always @reenter none @owns host owns the table @since 1.0 */
  const void* (*get_extension)(void* context, const char* id);
} loupe_taps;

/* LOUPE_GATHERER_ID: subscribes to taps of one module and hands the data to preprocessors. */
typedef struct loupe_gatherer {
  uint32_t struct_size, reserved;
  /* What the gatherer offers beyond this table. Optional. */
  /* @thread trainer @state created @reenter none @owns component owns the table @since 1.0 */
  const void* (*get_extension)(void* self, const char* id);
  /* module is null for the inspector's stream of pushed values; label is the parameter or attribute asked for. */
  /* @thread trainer or model @state created @reenter none @owns taps outlive the gatherer; borrows module, see
   * loupe_module @since 1.0 */
  loupe_status (*open)(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                       loupe_error* error);
  /* Optional: without it every event is passed on unchanged, which costs least. */
  /* @thread trainer or model @state open @reenter none @owns borrows event @since 1.0 */
  loupe_status (*event)(void* self, const loupe_event* event, loupe_error* error);
} loupe_gatherer;
