// The program's malloc and its kin, which count. They take the place of the library's for whatever the program loads,
// so that operator new, C's own calls and Rust's are all seen. All are here, free too: what one of them gives must go
// back to the same allocator, also where another was preloaded.

#include "check/allocations.h"

#include <cerrno>
#include <cstddef>

namespace loupe::check {
namespace {

thread_local uint64_t count = 0;

}  // namespace

uint64_t allocations() {
  return count;
}

}  // namespace loupe::check

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const bool loupe::check::counts_allocations = false;
#else
const bool loupe::check::counts_allocations = true;

extern "C" {

// What glibc's own are called besides. NOLINTBEGIN: the names are its.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
// NOLINTEND

#define LOUPE_VISIBLE __attribute__((visibility("default")))

LOUPE_VISIBLE void* malloc(std::size_t size) noexcept {
  ++loupe::check::count;
  return __libc_malloc(size);
}
LOUPE_VISIBLE void* calloc(std::size_t count, std::size_t size) noexcept {
  ++loupe::check::count;
  return __libc_calloc(count, size);
}
LOUPE_VISIBLE void* realloc(void* memory, std::size_t size) noexcept {
  ++loupe::check::count;
  return __libc_realloc(memory, size);
}
LOUPE_VISIBLE void* memalign(std::size_t alignment, std::size_t size) noexcept {
  ++loupe::check::count;
  return __libc_memalign(alignment, size);
}
LOUPE_VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}
LOUPE_VISIBLE int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
LOUPE_VISIBLE void free(void* memory) noexcept {
  __libc_free(memory);
}

}  // extern "C"
#endif
