#pragma once

// A draft: it may change or go without notice. Lenses that answer queries for numbers.

#include <loupe/draft/abi/lens_query.h>
#include <loupe/lens.h>

#include <cstring>
#include <optional>
#include <string>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// For the get_extension() of a lens with a function `std::optional<double> query(std::string_view key)`: the table
/// behind LOUPE_DRAFT_LENS_QUERY_ID, null for another id.
template <class Queried>
LOUPE_HIDDEN const void* query_extension(const char* id) {
  if (std::strcmp(id, LOUPE_DRAFT_LENS_QUERY_ID) != 0) return nullptr;
  static const loupe_draft_lens_query table = [] {
    loupe_draft_lens_query made{};
    made.struct_size = sizeof made;
    made.query = [](void* self, const char* key, double* value, loupe_error* error) {
      return detail::guarded(error, [&] {
        const std::optional<double> number = static_cast<Queried&>(detail::as<Lens>(self)).query(key);
        if (!number) throw Error(std::string("the lens has no number '") + key + "'", LOUPE_NOT_FOUND);
        *value = *number;
      });
    };
    return made;
  }();
  return &table;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
