#include "check/allocations.h"

#include <dlfcn.h>

#include <cstddef>
#include <string>
#include <vector>

#include "torch/redirect/slots.h"

namespace loupe::check {
namespace {

thread_local uint64_t count = 0;

struct Allocator {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*one)(std::size_t);   // operator new
  void* (*many)(std::size_t);  // operator new[]
};
Allocator real{};  // the allocator of this process

const Allocator counting = {[](std::size_t size) {
                              ++count;
                              return real.malloc(size);
                            },
                            [](std::size_t number, std::size_t size) {
                              ++count;
                              return real.calloc(number, size);
                            },
                            [](void* memory, std::size_t size) {
                              ++count;
                              return real.realloc(memory, size);
                            },
                            [](std::size_t alignment, std::size_t size) {
                              ++count;
                              return real.memalign(alignment, size);
                            },
                            [](std::size_t alignment, std::size_t size) {
                              ++count;
                              return real.aligned_alloc(alignment, size);
                            },
                            [](void** memory, std::size_t alignment, std::size_t size) {
                              ++count;
                              return real.posix_memalign(memory, alignment, size);
                            },
                            [](std::size_t size) {
                              ++count;
                              return real.one(size);
                            },
                            [](std::size_t size) {
                              ++count;
                              return real.many(size);
                            }};

/// Allocations by a sanitizer's allocator are not counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

/// Whether a preloaded allocator also replaces operator new, which then does not call malloc.
bool has_own_new() {
  Dl_info of_new{}, of_malloc{};
  return dladdr(dlsym(RTLD_DEFAULT, "_Znwm"), &of_new) != 0 && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 &&
         of_new.dli_fbase == of_malloc.dli_fbase;
}

/// Whether a slot calls the process's function, or will do so once the linker resolves it. A library's own function is
/// not touched, since that library frees what it returns.
bool leads_to(const Slot& slot, const void* function) {
  if (*slot.address == function) return true;
  Dl_info of_slot{}, of_target{};
  return dladdr(slot.address, &of_slot) != 0 && dladdr(*slot.address, &of_target) != 0 &&
         of_slot.dli_fbase == of_target.dli_fbase && of_target.dli_saddr != *slot.address;
}

template <class Function>
bool count_calls(const char* name, Function& of_process, Function counted, PointerWriter& writer) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) return false;
  of_process = reinterpret_cast<Function>(found);
  bool any = false;
  for (const auto& [symbol, slots] : find_slots({name}, {})) {
    for (const Slot& slot : slots) {
      if (*slot.address == reinterpret_cast<void*>(counted)) {
        any = true;
      } else if (leads_to(slot, found)) {
        any = writer.write(slot.address, reinterpret_cast<void*>(counted)) || any;
      }
    }
  }
  return any;
}

}  // namespace

uint64_t allocations() {
  return count;
}

bool count_allocations() {
  if (is_sanitized) return false;
  PointerWriter writer;
  const bool any = count_calls("malloc", real.malloc, counting.malloc, writer);
  count_calls("calloc", real.calloc, counting.calloc, writer);
  count_calls("realloc", real.realloc, counting.realloc, writer);
  count_calls("memalign", real.memalign, counting.memalign, writer);
  count_calls("aligned_alloc", real.aligned_alloc, counting.aligned_alloc, writer);
  count_calls("posix_memalign", real.posix_memalign, counting.posix_memalign, writer);
  if (has_own_new()) {
    count_calls("_Znwm", real.one, counting.one, writer);
    count_calls("_Znam", real.many, counting.many, writer);
  }
  return any;
}

}  // namespace loupe::check
