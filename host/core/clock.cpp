#include "core/clock.h"

#include <chrono>

namespace loupe {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace loupe
