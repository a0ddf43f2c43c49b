#include "core/clock.h"

#include <atomic>

namespace loupe {
namespace {

double system_steady_time() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
constinit std::atomic<double (*)()> steady_clock{&system_steady_time};

}  // namespace

double steady_time() {
  return steady_clock.load(std::memory_order_relaxed)();
}

void set_steady_clock(double (*clock)()) {
  steady_clock = clock != nullptr ? clock : &system_steady_time;
}

}  // namespace loupe
