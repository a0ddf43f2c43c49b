#include "torch/taps/call_place.h"

#include <pthread.h>
#include <unwind.h>

#include <algorithm>

namespace loupe {
namespace {

constexpr int most_frames = 200;

const CodeRange* range_of(const std::vector<CodeRange>& code, std::uintptr_t address) {
  auto after = std::upper_bound(code.begin(), code.end(), address,
                                [](std::uintptr_t value, const CodeRange& range) { return value < range.begin; });
  // Equal ranges may be listed several times, for several models of one class; any of them is fine.
  if (after == code.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

/// The system's stack of this thread. Fibers run on other stacks, whose bounds are unknown.
struct ThreadStack {
  std::uintptr_t low = 0, high = 0;

  static const ThreadStack& of_this_thread() {
    thread_local const ThreadStack stack = [] {
      ThreadStack found;
      pthread_attr_t attributes;
      if (pthread_getattr_np(pthread_self(), &attributes) != 0) return found;
      void* begin = nullptr;
      std::size_t size = 0;
      if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
        found.low = reinterpret_cast<std::uintptr_t>(begin);
        found.high = found.low + size;
      }
      pthread_attr_destroy(&attributes);
      return found;
    }();
    return stack;
  }
  bool holds(const void* place) const {
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    return address >= low && address < high;
  }
};

}  // namespace

struct CallPlaces::Walk {
  const std::vector<CodeRange>& code;
  Remembered& remembered;
  bool begun = false;
  bool can_be_remembered = true;        // whether every return address was found
  std::size_t next_return_address = 1;  // the returns of the outermost member function and its callers
  int frames = 0;
  std::uint64_t path = 0;
  std::uintptr_t callee_stack = 0, callee_frame = 0;  // the registers in the previous function

  ReturnAddress return_address(std::uintptr_t stack, const void* address) {
#if defined(__x86_64__)
    // A call leaves its return address right below the caller's stack.
    const auto* place = reinterpret_cast<const void* const*>(stack) - 1;
    if (*place == address) return {place, address};
#elif defined(__aarch64__)
    // The called function keeps it next to the caller's frame pointer, at its own frame pointer, unless compiled
    // without one; the upper bits may be a signature.
    const auto* place = reinterpret_cast<const void* const*>(callee_frame) + 1;
    const bool is_in_frame = callee_frame >= callee_stack && callee_frame + 2 * sizeof *place <= stack;
    constexpr std::uint64_t unsigned_bits = (std::uint64_t{1} << 48) - 1;
    if (is_in_frame && callee_frame % alignof(void*) == 0 &&
        ((reinterpret_cast<std::uintptr_t>(*place) ^ reinterpret_cast<std::uintptr_t>(address)) & unsigned_bits) == 0)
      return {place, *place};
#else
    static_cast<void>(stack);
    static_cast<void>(address);
#endif
    can_be_remembered = false;
    return {};
  }

  _Unwind_Reason_Code step(_Unwind_Context* context) {
    if (++frames > most_frames) return _URC_END_OF_STACK;
    const std::uintptr_t address = _Unwind_GetIP(context);
    const std::uintptr_t stack = _Unwind_GetCFA(context);
    if (begun || reinterpret_cast<const void*>(address) == remembered.site.address) look_at(address, stack);
    callee_stack = stack;
#if defined(__aarch64__)
    callee_frame = _Unwind_GetGR(context, 29);
#endif
    return _URC_NO_REASON;
  }

  void look_at(std::uintptr_t address, std::uintptr_t stack) {
    const void* pointer = reinterpret_cast<const void*>(address);
    if (begun && remembered.return_addresses[0].place == nullptr)
      remembered.return_addresses[0] = return_address(stack, pointer);
    begun = true;
    if (remembered.place.in_model && next_return_address < remembered.return_addresses.size())
      remembered.return_addresses[next_return_address++] = return_address(stack, pointer);
    path = (path ^ address) * 0x9E3779B97F4A7C15ULL;
    remembered.place.caller = (remembered.place.caller ^ address ^ stack) * 0x9E3779B97F4A7C15ULL;
    // A return address may be after the last instruction of its function.
    if (const CodeRange* range = range_of(code, address - 1)) {
      CallPlace& place = remembered.place;
      place.in_model = true;
      place.path = path;
      if (range->of_root) {
        place.in_root = true;
        place.root_frame = stack;
        place.attachment = range->attachment;
      }
      place.caller = 0;
      next_return_address = 1;
    }
  }
};

bool CallPlaces::Remembered::holds(const CallSite& other) const {
  return site.address == other.address && site.frame == other.frame &&
         std::all_of(return_addresses.begin(), return_addresses.end(),
                     [](const ReturnAddress& each) { return each.holds(); });
}

const CallPlace& CallPlaces::find(const CallSite& site, const std::vector<CodeRange>& code) {
  const std::uint64_t mixed =
      (reinterpret_cast<std::uintptr_t>(site.address) * 31 + reinterpret_cast<std::uintptr_t>(site.frame)) *
      0x9E3779B97F4A7C15ULL;
  // A place has several callers, as a layer that a Sequential calls first or later.
  Remembered* const ways = &remembered_[mixed >> 59 << 2];
  Remembered* const known = std::find_if(ways, ways + 4, [&](const Remembered& each) { return each.holds(site); });
  if (known != ways + 4) return known->place;
  Remembered& remembered = ways[next_replaced_++ % 4];
  remembered = {site, {}, {}};
  Walk walk{code, remembered};
  _Unwind_Backtrace([](_Unwind_Context* context, void* data) { return static_cast<Walk*>(data)->step(context); },
                    &walk);
  // A stack other than the thread's own may be freed by the next call, so its addresses must not be read then.
  const ThreadStack& stack = ThreadStack::of_this_thread();
  const bool can_be_remembered =
      walk.can_be_remembered && stack.holds(site.frame) &&
      std::all_of(remembered.return_addresses.begin(), remembered.return_addresses.end(),
                  [&](const ReturnAddress& each) {
                    return each.place == nullptr || (each.place >= site.frame && stack.holds(each.place));
                  });
  if (!can_be_remembered) remembered.site = {};
  return remembered.place;
}

void CallPlaces::forget() {
  remembered_.fill({});
}

}  // namespace loupe
