#pragma once

#include <cstdint>

namespace loupe {

/// What plugins still do as the process ends in a signal handler; see loupe/draft/abi/last_words.h. Any thread.
struct LastWords {
  using Speak = void (*)(void* place, const char* how, const char* message, std::uint64_t step);

  /// @param run  only to compare with
  static void add(const void* run, Speak speak, void* place);
  static void remove(const void* place);
  /// Steps of a run so far.
  static void set_step(const void* run, std::uint64_t step);
  /// Calls all that this process added, after the visualizers' jobs. Never kills the process. Safe in a signal handler.
  /// @param how  "failed" or "interrupted"  @param message  any text
  static void speak(const char* how, const char* message) noexcept;
};

}  // namespace loupe
