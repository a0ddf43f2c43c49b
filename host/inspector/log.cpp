#include "loupe/log.h"

#include "core/log.h"

namespace loupe {

void set_log(LogCallback callback) {
  if (!callback) {
    set_log_sink({});
    return;
  }
  set_log_sink([callback = std::move(callback)](int level, const std::string& message) {
    callback(static_cast<LogLevel>(level), message);
  });
}

}  // namespace loupe
