#include "timing/thread_callbacks.h"

#include <ATen/record_function.h>

#include "core/threads.h"

namespace loupe {
namespace {

constinit thread_local bool is_thread_ending = false;

struct EndOfCallbacks {
  EndOfCallbacks() { at::get_record_function_tls_(); }  // is made before this, and so destroyed after it
  ~EndOfCallbacks() { is_thread_ending = true; }
};

}  // namespace

bool can_add_thread_callbacks() {
  if (is_thread_ending) return false;
  ThreadOwn<EndOfCallbacks>::get();
  return true;
}

}  // namespace loupe
