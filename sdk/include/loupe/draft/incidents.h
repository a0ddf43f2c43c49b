#pragma once

// A draft: it may change or go without notice. Lenses that keep the last steps before a fault.

#include <loupe/draft/abi/incidents.h>
#include <loupe/lens.h>

#include <cstring>
#include <string>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// Calls `call` while no event of the module (null: no push) is processed; false, without a call, if one does not end.
template <class Call>
bool hold(const loupe_draft_incident& incident, const loupe_module* module, Call&& call) {
  const auto held = [](void* context) { (*static_cast<std::remove_reference_t<Call>*>(context))(); };
  return incident.hold(incident.context, module, held, &call) == LOUPE_OK;
}

/// The table behind LOUPE_DRAFT_INCIDENTS_ID, for the get_extension() of a lens with the functions
/// `bool writes_at(const loupe_finding&)` and `std::string write(const loupe_draft_incident&)`, which returns the
/// folder.
template <class Keeping>
LOUPE_HIDDEN const void* incidents_extension() {
  static const loupe_draft_incidents table = [] {
    loupe_draft_incidents made{};
    made.struct_size = sizeof made;
    made.finding = [](void* self, const loupe_finding* finding, uint32_t* writes, loupe_error* error) {
      return detail::guarded(
          error, [&] { *writes = static_cast<Keeping&>(detail::as<Lens>(self)).writes_at(*finding) ? 1 : 0; });
    };
    made.write = [](void* self, const loupe_draft_incident* incident, char* folder, size_t capacity,
                    loupe_error* error) {
      return detail::guarded(error, [&] {
        const std::string written = static_cast<Keeping&>(detail::as<Lens>(self)).write(*incident);
        if (written.size() >= capacity) throw Error("the name of the folder '" + written + "' is too long");
        std::memcpy(folder, written.c_str(), written.size() + 1);
      });
    };
    return made;
  }();
  return &table;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
