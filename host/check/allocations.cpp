// The program's operator new, which counts. It takes the place of the library's for whatever the program loads. C's
// malloc stays what it is, which may be a sanitizer's, or that of another allocator.

#include "check/allocations.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace loupe::check {
namespace {

thread_local uint64_t count = 0;

}  // namespace

uint64_t allocations() {
  return count;
}

}  // namespace loupe::check

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
const bool loupe::check::counts_allocations = true;

__attribute__((visibility("default"))) void* operator new(std::size_t size) {
  ++loupe::check::count;
  while (true) {
    if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;  // NOLINT: this is what calls of new come to
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
__attribute__((visibility("default"))) void operator delete(void* memory) noexcept {
  std::free(memory);  // NOLINT: the same
}
__attribute__((visibility("default"))) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);  // NOLINT: the same
}
#else
const bool loupe::check::counts_allocations = false;
#endif
