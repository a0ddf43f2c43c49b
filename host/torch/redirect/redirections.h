#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/forks.h"
#include "core/shared.h"
#include "torch/redirect/slots.h"
#include "torch/redirect/symbols.h"

namespace loupe {

/// The entry of a virtual member in the virtual table of an object's type, by the Itanium C++ ABI.
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

/// The functions of LibTorch that are redirected to taps, and the slots and vtable entries that were rewritten for it.
/// Nothing is redirected while nobody holds it; releasing writes everything back. Any thread.
class Redirections {
 public:
  LOUPE_SHARED static Redirections& instance();

  /// Declares a function of LibTorch's and its tap; present holders redirect it at the next hold or follow_libraries.
  /// `everywhere`: also for calls by LibTorch itself.
  LOUPE_SHARED void declare(const std::string& symbol, void* tap, bool everywhere);
  /// Adds an address in a library of LibTorch: calls from there are LibTorch's own. Call it before the first hold.
  void know_libtorch(const void* address);
  /// Redirects declared functions; searches for slots again if libraries were loaded since. Holds are counted.
  LOUPE_SHARED void hold();
  LOUPE_SHARED void release();
  /// Searches for slots again if libraries were loaded since; does nothing if none were, or while nobody holds.
  void follow_libraries(int more_holders = 0);
  /// Redirects entries of virtual tables until the last release, again where it was done before; several cost little
  /// more than one. False where the system refuses.
  bool redirect_entries(const std::vector<void**>& entries, void* tap);

  /// Whether all calls of a symbol are redirected.
  bool reaches(const std::string& symbol) const;
  /// Whether the system refused to redirect some call of a symbol.
  bool refuses(const std::string& symbol) const;
  /// Rewritten slots and entries right now; 0 when detached.
  std::size_t active_count() const;

 private:
  struct DeclaredTap {
    void* tap;
    bool everywhere;
  };
  struct WrittenPointer {
    void** address;
    void* original;
    void* tap;
  };
  std::string find_and_write();
  std::string write_slots();

  mutable ProcessMutex mutex_;
  std::unordered_map<std::string, DeclaredTap> declared_;
  std::unordered_map<std::string, std::vector<Slot>> slots_;
  std::vector<const void*> libtorch_;
  std::vector<WrittenPointer> written_;
  std::unordered_set<std::string> reached_, refused_;  // symbols whose slots could, or could not, be written
  bool told_of_refusal_ = false;
  LibraryChanges libraries_;
  SearchedObjects searched_;
  int holders_ = 0;
};

/// Like Redirections::declare, for the function at this address.
template <class Function, class Tap>
void declare_tap(Function* function, Tap* tap, bool everywhere = false) {
  Redirections::instance().declare(symbol_of(reinterpret_cast<const void*>(function)), reinterpret_cast<void*>(tap),
                                   everywhere);
}

/// The address of a member function that is not virtual: a pointer to it begins with that (Itanium C++ ABI).
template <class Member>
void* member_address(Member member) {
  void* address = nullptr;
  std::memcpy(&address, &member, sizeof address);
  return address;
}

/// The original functions in virtual tables with a tap, by table: a user's class derived from LibTorch's has a
/// different table.
template <class Function>
class VirtualOriginals {
 public:
  Function of(const void* object) {
    const std::lock_guard lock(mutex_);
    return by_table_.at(*static_cast<void** const*>(object));
  }
  /// Call it before redirecting the entry of a table; repetition does nothing.
  void keep(void** table, void* const* entry, Function tap) {
    const std::lock_guard lock(mutex_);
    if (*entry != reinterpret_cast<void*>(tap)) by_table_[table] = reinterpret_cast<Function>(*entry);
  }

 private:
  ProcessMutex mutex_;
  std::unordered_map<void**, Function> by_table_;
};

}  // namespace loupe
