#include "torch/taps/thread_callbacks.h"

#include <ATen/record_function.h>

#include "core/threads.h"
#include "core/work.h"

namespace loupe {
namespace {

constinit thread_local bool is_thread_ending = false;

struct EndOfThread {
  EndOfThread() { at::get_record_function_tls_(); }  // is made before this, and so destroyed after it
  ~EndOfThread() { is_thread_ending = true; }
};

}  // namespace

bool can_add_thread_callbacks() {
  if (is_thread_ending) return false;
  ThreadOwn<EndOfThread>::get();
  return true;
}

void in_loupe_time(void (*call)(void* context), void* context) {
  const LoupeTime time;
  call(context);
}

}  // namespace loupe
