#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/part.h"

namespace loupe {

/// A line of the program's source; `file` has no folder, and is empty if there is no line.
struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

/// The return addresses of the active calls, innermost first, without Loupe's own; unused places are 0.
struct CallStack {
  std::array<std::uintptr_t, 16> addresses{};
  static CallStack now();
  /// The innermost line outside the headers of LibTorch and the system; none without debug information. Reads the
  /// program's files, which takes milliseconds for each new address: only for findings. Any thread that may open a
  /// part.
  SourceLine source_line() const;
};

/// See CallStack::source_line.
struct LinesTable {
  static constexpr Part part = Part::lines;
  SourceLine (*line_of)(const CallStack& stack);
};

/// The calls that led to an event when it first happened. Any thread.
class FirstCall {
 public:
  ~FirstCall() { delete stack_.load(); }

  bool is_known() const { return stack_.load(std::memory_order_relaxed) != nullptr; }
  void note() {
    if (is_known()) return;
    auto stack = std::make_unique<const CallStack>(CallStack::now());
    const CallStack* none = nullptr;
    if (stack_.compare_exchange_strong(none, stack.get())) static_cast<void>(stack.release());
  }
  /// See CallStack.
  SourceLine source_line() const {
    const CallStack* stack = stack_.load();
    return stack != nullptr ? stack->source_line() : SourceLine();
  }

 private:
  std::atomic<const CallStack*> stack_{nullptr};
};

}  // namespace loupe
