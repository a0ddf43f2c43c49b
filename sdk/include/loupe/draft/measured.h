#pragma once

// A draft: it may change or go without notice. Lenses that receive the measurements that the host makes for other
// lenses.

#include <loupe/draft/abi/measured.h>
#include <loupe/lens.h>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// The table behind LOUPE_DRAFT_MEASURED_ID, for the get_extension() of a lens with the function
/// `Stream* begin_stream(const Module&, const char* name)`, which may return null. The lens owns the stream, which has
/// the function `void event(const Event&) noexcept`.
template <class Hearing>
LOUPE_HIDDEN const void* measured_extension() {
  static const loupe_draft_measured table = [] {
    loupe_draft_measured made{};
    made.struct_size = sizeof made;
    made.begin = [](void* self, const loupe_module* module, const char* name) -> void* {
      void* handle = nullptr;
      detail::guarded(
          nullptr, [&] { handle = static_cast<Hearing&>(detail::as<Lens>(self)).begin_stream(Module(module), name); });
      return handle;
    };
    made.event = [](void* handle, const loupe_event* event) {
      using Stream = std::remove_pointer_t<decltype(std::declval<Hearing&>().begin_stream(Module(nullptr), nullptr))>;
      static_cast<Stream*>(handle)->event(Event(event));
    };
    return made;
  }();
  return &table;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
