#pragma once

// A draft: it may change or go without notice. What optimizers keep of parameters from step to step.

#include <loupe/draft/abi/optimizer_states.h>
#include <loupe/host.h>

#include <type_traits>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// In Lens::step: calls `take(const char* name, const loupe_tensor&)` with each state that the optimizer which has just
/// stepped keeps of a parameter that the host lends; see loupe_draft_optimizer_state_service. False where there is
/// none.
template <class Take>
bool lend_optimizer_states(const Host& host, const loupe_tensor& parameter, Take&& take) {
  const auto* table =
      static_cast<const loupe_draft_optimizer_state_service*>(host.get_extension(LOUPE_DRAFT_OPTIMIZER_STATES_ID));
  if (table == nullptr) return false;
  const auto call = [](void* context, const char* name, const loupe_tensor* state) {
    (*static_cast<std::remove_reference_t<Take>*>(context))(name, *state);
  };
  return table->lend(host.context(), &parameter, call, &take, nullptr) == LOUPE_OK;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
