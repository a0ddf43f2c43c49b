#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace loupe {

/// Where the virtual table of an object's type holds a virtual member, by the Itanium C++ ABI.
template <class Member>
void** virtual_entry(const void* object, Member member) {
  std::uintptr_t offset = 0;
  static_assert(sizeof member >= sizeof offset, "a pointer to a member begins with an offset");
  std::memcpy(&offset, &member, sizeof offset);
#if !defined(__aarch64__) && !defined(__arm__)
  offset -= 1;  // the mark of a virtual member, which ARM keeps elsewhere
#endif
  return *static_cast<void** const*>(object) + offset / sizeof(void*);
}

}  // namespace loupe
