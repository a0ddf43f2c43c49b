#include "pipeline/source.h"

#include <loupe/error.h>

#include "core/log.h"

namespace loupe {

void LensGuard::fault(const std::string& where, const std::string& what) {
  const std::string message =
      speaker_ + " of " + plugin_ + (place_.empty() ? "" : " (" + place_ + ")") + " failed at " + where + ": " + what;
  if (stop_on_error_) throw Error(message);
  if ((silence_.fetch_or(kQuarantined) & kQuarantined) != 0) return;
  log(LOUPE_LOG_ERROR, message + "; it is quarantined, everything else goes on (on_error: stop would stop here)");
  if (told_) told_(message);
}

}  // namespace loupe
