#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace loupe {

/// A line of the program's source, by the file's name alone; none where the file is empty.
struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

/// Return addresses of the calls that are on, innermost first and without Loupe's own; 0 behind the last.
struct CallStack {
  std::array<std::uintptr_t, 16> addresses{};
  static CallStack now();
  /// The innermost line that is in no header of LibTorch's or the system's. None without debug information. Reads the
  /// program's files, milliseconds for each place in the program that was not asked for before, so only for what is
  /// told. Any thread.
  SourceLine source_line() const;
};

/// The calls by which something came about first. Any thread.
class FirstCall {
 public:
  FirstCall() = default;
  FirstCall(const FirstCall&) = delete;
  FirstCall& operator=(const FirstCall&) = delete;
  ~FirstCall() { delete stack_.load(); }

  bool is_known() const { return stack_.load(std::memory_order_relaxed) != nullptr; }
  void note() {
    if (is_known()) return;
    auto stack = std::make_unique<const CallStack>(CallStack::now());
    const CallStack* none = nullptr;
    if (stack_.compare_exchange_strong(none, stack.get())) static_cast<void>(stack.release());
  }
  /// Where it is in the program's source, see CallStack.
  SourceLine source_line() const {
    const CallStack* stack = stack_.load();
    return stack != nullptr ? stack->source_line() : SourceLine();
  }

 private:
  std::atomic<const CallStack*> stack_{nullptr};
};

}  // namespace loupe
