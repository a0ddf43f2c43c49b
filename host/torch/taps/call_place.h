#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "torch/redirect/symbols.h"

namespace loupe {

/// The call of a tap. LOUPE_CALL_SITE creates it in the tap itself.
struct CallSite {
  const void* address = nullptr;
  const void* frame = nullptr;
};
#define LOUPE_CALL_SITE                                     \
  ::loupe::CallSite {                                       \
    __builtin_return_address(0), __builtin_frame_address(0) \
  }

/// The stack below a call: whether a member function of an attached model's classes runs.
struct CallPlace {
  bool in_model = false;                     // the call is in code of any class of the model
  bool in_root = false;                      // the call is in code of an attached class
  std::uintptr_t root_frame = 0;             // frame of the outermost of those
  const WatchedModel* attachment = nullptr;  // the attachment of that class; only to compare with
  std::uint64_t path = 0;                    // identifies the calls from there to here
  std::uint64_t caller = 0;                  // identifies the calls to there
};

/// The places found so far on one thread: walking up the stack takes microseconds, and a program has few call sites.
class CallPlaces {
 public:
  /// @param code  sorted; the same until forget()
  const CallPlace& find(const CallSite& site, const std::vector<CodeRange>& code);
  void forget();

 private:
  /// A return address found on the stack: while it is still there, the calls below are the same.
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
