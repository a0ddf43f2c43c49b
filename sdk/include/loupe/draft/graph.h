#pragma once

// A draft: it may change or go without notice. What a tensor was computed from, as autograd's graph has it.

#include <loupe/draft/abi/graph.h>
#include <loupe/host.h>

#include <unordered_set>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// Where the elements of the leaves lie that an event's tensor depends on and that get gradients; while that event is
/// processed. Empty where the host does not offer this draft.
inline std::unordered_set<const void*> leaves_of(const Host& host, const loupe_tensor& tensor) {
  std::unordered_set<const void*> leaves;
  const auto* table = static_cast<const loupe_draft_graph_service*>(host.get_extension(LOUPE_DRAFT_GRAPH_ID));
  if (table == nullptr) return leaves;
  const auto take = [](void* context, const void* data) {
    static_cast<std::unordered_set<const void*>*>(context)->insert(data);
  };
  detail::ErrorBuffer error;
  error.check(table->leaves(host.context(), &tensor, take, &leaves, error.get()));
  return leaves;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
