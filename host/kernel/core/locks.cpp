#include "core/locks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace loupe {
namespace {

struct Held {
  LockRank rank;
  const void* mutex;
};

/// Needs no heap and no destructor: locks are also taken in hooks and while a thread ends. Further locks are not
/// checked.
struct HeldLocks {
  Held locks[16];
  std::size_t count;
};
thread_local constinit HeldLocks held{};

const char* name_of(LockRank rank) {
  constexpr const char* names[] = {"program", "inspector", "module", "functions", "registry", "leaf"};
  return names[static_cast<unsigned>(rank)];
}

}  // namespace

void LockOrder::expect(LockRank rank, const void* mutex) {
  thread_local bool is_breaking = false;  // the message takes the log's locks
  if (is_breaking) return;
  const Held *const begin = held.locks, *const end = begin + held.count;
  if (std::any_of(begin, end, [&](const Held& each) { return each.mutex == mutex; })) return;
  for (const Held* each = begin; each != end; ++each) {
    if (each->rank < rank) continue;
    is_breaking = true;
    break_contract(std::string("a thread that holds a lock of rank '") + name_of(each->rank) + "' takes one of rank '" +
                   name_of(rank) + "', against the order in core/locks.h");
  }
}

void LockOrder::locked(LockRank rank, const void* mutex) {
  if (held.count < std::size(held.locks)) held.locks[held.count++] = {rank, mutex};
}

void LockOrder::unlocked(const void* mutex) {
  for (std::size_t i = held.count; i-- > 0;) {
    if (held.locks[i].mutex != mutex) continue;
    std::copy(held.locks + i + 1, held.locks + held.count, held.locks + i);
    --held.count;
    return;
  }
}

}  // namespace loupe
