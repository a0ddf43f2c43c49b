#include "core/strict.h"

#include <loupe/abi.h>

#include <cstdlib>
#include <cstring>

#include "core/log.h"

namespace loupe {

const bool is_strict = [] {
  const char* check = std::getenv("LOUPE_CHECK");
  if (check == nullptr || *check == '\0') return false;
  if (std::strcmp(check, "strict") == 0) return true;
  log(LOUPE_LOG_WARNING, std::string("LOUPE_CHECK is '") + check + "', which is unknown; the only value is 'strict'");
  return false;
}();

namespace {
std::atomic<bool> refuses{false};
}  // namespace

bool refuses_mistakes() {
  return is_strict || refuses.load(std::memory_order_relaxed);
}
void refuse_mistakes() {
  refuses = true;
}

void break_contract(const std::string& what) {
  log(LOUPE_LOG_ERROR, "LOUPE_CHECK=strict: " + what + "; this is a fault of Loupe, please report it");
  std::abort();
}

void Exclusive::enter(const char* function, const char* speaker, Reentry reentry) {
  const std::thread::id self = std::this_thread::get_id();
  std::thread::id nobody{};
  if (inside_.load() != self && !inside_.compare_exchange_strong(nobody, self)) {
    break_contract(std::string(function) + " of " + speaker + " is called while another thread is inside a call that " +
                   "it must not meet");
  }
  if (depth_ > 0 && reentry == Reentry::none) {
    break_contract(std::string(function) + " of " + speaker + " is called before a call on the same thread has " +
                   "returned that it must not re-enter");
  }
  ++depth_;
}

void Exclusive::leave() {
  if (--depth_ == 0) inside_.store(std::thread::id{});
}

}  // namespace loupe
