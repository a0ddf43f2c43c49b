#include "core/call_stack.h"

#include <unwind.h>

#include <cstddef>

#include "core/own_code.h"

namespace loupe {

CallStack CallStack::now() {
  struct Walk {
    CallStack stack;
    std::size_t count = 0;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        Walk& at = *static_cast<Walk*>(data);
        const std::uintptr_t address = _Unwind_GetIP(context);
        if (is_own(reinterpret_cast<const void*>(address))) return _URC_NO_REASON;
        at.stack.addresses[at.count++] = address;
        return at.count < at.stack.addresses.size() ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &walk);
  return walk.stack;
}

SourceLine CallStack::source_line() const {
  if (addresses.front() == 0) return {};
  const auto* lines = part<LinesTable>("findings have no place in the source");
  return lines != nullptr ? lines->line_of(*this) : SourceLine();
}

}  // namespace loupe
