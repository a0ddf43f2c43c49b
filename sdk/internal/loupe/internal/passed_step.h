#pragma once

// Private to the host and the plugins that are built with it, as tally.h is: steps that are not looked at.

#include <loupe/lens.h>
#include <loupe/report.h>

#include <cstring>

#ifndef LOUPE_BUILD_ID
#error "link loupe_internal, which names the build"
#endif
#define LOUPE_INTERNAL_PASSED_STEP_ID "loupe.passed_step/build-" LOUPE_BUILD_ID

/// The extension LOUPE_INTERNAL_PASSED_STEP_ID of a loupe_lens, whose `self` is the first argument.
struct loupe_internal_passed_step {
  /// As loupe_lens::step, after a step of an optimizer in an epoch that is looked at, of which no tap told anything but
  /// that it was made. What the optimizer is set to is as before the step or after it.
  loupe_status (*passed)(void* self, const loupe_step* step, const loupe_sink* sink, loupe_error* error);
};

namespace loupe::internal {

/// For get_extension() of a lens with a member `passed(const loupe_step&, Report&)`.
/// @tparam Kind  the lens
template <class Kind>
const void* passed_step_table(const char* id) {
  if (std::strcmp(id, LOUPE_INTERNAL_PASSED_STEP_ID) != 0) return nullptr;
  static const loupe_internal_passed_step table = {
      .passed = [](void* self, const loupe_step* step, const loupe_sink* sink, loupe_error* error) {
        return detail::guarded(error, [&] {
          Report report(sink);
          static_cast<Kind&>(detail::as<Lens>(self)).passed(*step, report);
        });
      }};
  return &table;
}

}  // namespace loupe::internal
