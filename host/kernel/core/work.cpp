#include "core/work.h"

namespace loupe {

constinit std::atomic<WorkListener*> WorkListener::listener_{nullptr};

void WorkListener::set(WorkListener* listener) {
  listener_.store(listener, std::memory_order_release);
}

void in_loupe_time(void (*call)(void* context), void* context) {
  const LoupeTime time;
  call(context);
}

}  // namespace loupe
