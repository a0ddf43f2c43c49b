#include "core/host_interface.h"

#include <map>
#include <mutex>
#include <string>

#include "core/log.h"
#include "loupe/version.h"

namespace loupe {
namespace {

std::mutex mutex;
std::map<std::string, const void*>& services() {
  static std::map<std::string, const void*> map;
  return map;
}

}  // namespace

const loupe_host& host_interface() {
  static const loupe_host host = {sizeof(loupe_host),
                                  LOUPE_ABI_MAJOR,
                                  LOUPE_ABI_MINOR,
                                  0,
                                  LOUPE_VERSION,
                                  nullptr,
                                  [](void*, int32_t level, const char* message) { log(level, message); },
                                  [](void*, const char* id) -> const void* {
                                    const std::lock_guard lock(mutex);
                                    const auto found = services().find(id);
                                    return found == services().end() ? nullptr : found->second;
                                  }};
  return host;
}

void offer_interface(const char* id, const void* table) {
  const std::lock_guard lock(mutex);
  services()[id] = table;
}

}  // namespace loupe
