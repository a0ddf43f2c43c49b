#pragma once

// A draft: it may change or go without notice. Whether the host has the drafts that a plugin was built with.

#include <loupe/host.h>

#include <string>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// For the constructor of a component that needs a draft: throws Error if the host lacks it, so that the user sees an
/// error and not a missing number.
/// @param id  "loupe.step_time/draft-1"; not that of `settings`, which come later
inline void need(const Host& host, const char* id) {
  if (host.get_extension(id) != nullptr) return;
  throw Error(
      std::string("it needs the draft '") + id + "', which this Loupe does not have; build it with this Loupe's SDK",
      LOUPE_UNSUPPORTED);
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
