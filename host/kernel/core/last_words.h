#pragma once

#include <cstdint>

namespace loupe {

/// Calls of plugins as the process ends in a signal handler; see loupe/draft/abi/last_words.h. Any thread.
struct LastWords {
  using Speak = void (*)(void* place, const char* how, const char* message, std::uint64_t step);

  /// @param run  only to compare with
  static void add(const void* run, Speak speak, void* place);
  static void remove(const void* place);
  /// Sets the number of steps of a run so far.
  static void set_step(const void* run, std::uint64_t step);
  /// Calls all functions that this process added, after visualizers' jobs. Never kills the process. Signal-safe.
  /// @param how  "failed" or "interrupted"  @param message  any text
  static void speak(const char* how, const char* message) noexcept;
};

}  // namespace loupe
