#include "run/call_origin.h"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cstdint>

#include "torch/redirect/model_code.h"

namespace loupe {
namespace {

bool holds(const std::vector<CodeRange>& code, std::uintptr_t address) {
  return std::any_of(code.begin(), code.end(),
                     [&](const CodeRange& each) { return address > each.begin && address <= each.end; });
}

struct Walk {
  const std::vector<CodeRange>& code;
  std::uintptr_t from;
  bool begun = false;
  std::uintptr_t found = 0;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const std::uintptr_t address = _Unwind_GetIP(context);
  walk.begun = walk.begun || address == walk.from;
  if (!walk.begun || holds(walk.code, address)) return _URC_NO_REASON;
  walk.found = address;
  return _URC_NORMAL_STOP;
}

}  // namespace

const std::vector<CodeRange>* CallOrigins::inline_code_at(const void* place) {
  Dl_info object{};
  if (dladdr(place, &object) == 0) return nullptr;
  const auto [known, is_new] = inline_code_.try_emplace(object.dli_fbase);
  if (is_new) known->second = find_member_code("at::Tensor", place);
  return holds(known->second, reinterpret_cast<std::uintptr_t>(place)) ? &known->second : nullptr;
}

const void* CallOrigins::of(const void* place) {
  // Looking up a place takes longer the more symbols the program has.
  const auto [known, is_new] = places_.try_emplace(place, nullptr);
  if (is_new) known->second = inline_code_at(place);
  if (known->second == nullptr) return place;
  Walk walk{*known->second, reinterpret_cast<std::uintptr_t>(place)};
  _Unwind_Backtrace(&look_at, &walk);
  return walk.found != 0 ? reinterpret_cast<const void*>(walk.found) : place;
}

}  // namespace loupe
