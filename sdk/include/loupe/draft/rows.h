#pragma once

// A draft: it may change or go without notice. Lenses that judge what all lenses report.

#include <loupe/draft/abi/rows.h>
#include <loupe/lens.h>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// The table behind LOUPE_DRAFT_ROWS_ID, for the get_extension() of a lens with the functions
/// `void number(const char* tag, const char* layer, const char* line, double value)` and `void end_tick(Report&)`,
/// whose report takes only findings.
template <class Judging>
LOUPE_HIDDEN const void* rows_extension() {
  static const loupe_draft_rows table = [] {
    loupe_draft_rows made{};
    made.struct_size = sizeof made;
    made.number = [](void* self, const char* tag, const char* layer, const char* line, double value,
                     loupe_error* error) {
      return detail::guarded(error,
                             [&] { static_cast<Judging&>(detail::as<Lens>(self)).number(tag, layer, line, value); });
    };
    made.end = [](void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
      return detail::guarded(error, [&] {
        Report report(sink, tick);
        static_cast<Judging&>(detail::as<Lens>(self)).end_tick(report);
      });
    };
    return made;
  }();
  return &table;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
