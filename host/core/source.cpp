#include "core/source.h"

#include <loupe/error.h>

#include "core/log.h"

namespace loupe {

void LensGuard::fault(const std::string& where, const std::string& what) {
  const std::string message = "the lens '" + lens_ + "' of " + plugin_ + " failed at " + where + ": " + what;
  if (stop_on_error_) throw Error(message);
  if (!quarantined_.exchange(true)) {
    log(LOUPE_LOG_ERROR, message + "; it is quarantined, everything else goes on (on_error: stop would stop here)");
  }
}

}  // namespace loupe
