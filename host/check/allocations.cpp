// The program's malloc, which counts. It takes the place of libc's for whatever the program loads.

#include "check/allocations.h"

#include <cstddef>

namespace loupe::check {
namespace {

thread_local uint64_t count = 0;

}  // namespace

uint64_t allocations() {
  return count;
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
const bool counts_allocations = true;

extern "C" {
// NOLINTBEGIN: these are glibc's names, and its declarations of the others are not to be repeated
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);

__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(std::size_t items, std::size_t size) {
  ++count;
  return __libc_calloc(items, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t size) {
  ++count;
  return __libc_realloc(memory, size);
}
// NOLINTEND
}
#else
const bool counts_allocations = false;
#endif

}  // namespace loupe::check
