#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "torch/redirect/symbols.h"

namespace loupe {

/// Where a tap was called from. Made by LOUPE_CALL_SITE in the tap itself.
struct CallSite {
  const void* address = nullptr;
  const void* frame = nullptr;
};
#define LOUPE_CALL_SITE                                     \
  ::loupe::CallSite {                                       \
    __builtin_return_address(0), __builtin_frame_address(0) \
  }

/// What lies on the stack below a call: whether a member function of an attached model's classes runs.
struct CallPlace {
  bool in_model = false;                     // of any class
  bool in_root = false;                      // of a class that was attached itself
  std::uintptr_t root_frame = 0;             // of the outermost of those
  const WatchedModel* attachment = nullptr;  // whose class that is; only to compare with
  std::uint64_t path = 0;                    // differs by the calls from there to here
  std::uint64_t caller = 0;                  // differs by the calls to there
};

/// The places found so far on one thread: walking up the stack takes microseconds, and a program calls from few.
class CallPlaces {
 public:
  /// @param code  sorted; the same until forget()
  const CallPlace& find(const CallSite& site, const std::vector<CodeRange>& code);
  void forget();

 private:
  /// A return address on the stack as it stood: while it does, the calls below are the same.
  struct ReturnAddress {
    const void* const* place = nullptr;
    const void* value = nullptr;
    bool holds() const { return place == nullptr || *place == value; }
  };
  struct Remembered {
    CallSite site;
    std::array<ReturnAddress, 4> return_addresses;
    bool holds(const CallSite& site) const;
    CallPlace place;
  };
  struct Walk;
  std::array<Remembered, 128> remembered_;  // four for each hash of a site
  std::size_t next_replaced_ = 0;
};

}  // namespace loupe
