#pragma once

#include <type_traits>

#include "core/shared.h"

namespace loupe {

/// Whether callbacks may be added to those that LibTorch calls on this thread. It keeps them in an object of the
/// thread's own, which is gone where a model runs in the destructor of a static or thread_local object.
LOUPE_SHARED bool can_add_thread_callbacks();

LOUPE_SHARED void in_loupe_time(void (*call)(void* context), void* context);
/// Counts the call as Loupe's own work, for parts of the host.
template <class Call>
void in_loupe_time(Call&& call) {
  in_loupe_time([](void* context) { (*static_cast<std::remove_reference_t<Call>*>(context))(); }, &call);
}

}  // namespace loupe
