#pragma once

namespace loupe {

/// Whether callbacks may be added to those that LibTorch calls on this thread. It keeps them in a thread_local object,
/// which is destroyed when a model runs in the destructor of a static or thread_local object.
bool can_add_thread_callbacks();

}  // namespace loupe
