/* A draft: it may change or go without notice. What a tensor was computed from, as autograd's graph has it. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_DRAFT_GRAPH_ID "loupe.graph/draft-1"

/* `data`: where the elements of a leaf lie, as loupe_tensor has it. */
/* @thread trainer or model @state within a call of leaves @reenter none @owns nothing @since 1.0 */
typedef void (*loupe_draft_take_leaf)(void* context, const void* data);

/* Host service LOUPE_DRAFT_GRAPH_ID. */
typedef struct loupe_draft_graph_service {
  uint32_t struct_size, reserved;
  /* While an event is processed: calls `take` with each leaf that requires a gradient and that the event's tensor
   * depends on, once, by walking the graph, which takes as long as the graph is large. Waits for no device. */
  /* @thread trainer or model @state always @reenter none @owns borrows tensor @since 1.0 */
  loupe_status (*leaves)(void* context, const loupe_tensor* tensor, loupe_draft_take_leaf take, void* take_context,
                         loupe_error* error);
} loupe_draft_graph_service;
