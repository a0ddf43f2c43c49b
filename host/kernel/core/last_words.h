#pragma once

#include <cstdint>
#include <string>

namespace loupe {

/// The last line of a record, of the kind "end", for a process that ends in a signal handler: prepared in advance, and
/// discarded if the run ends in another way.
class LastWords {
 public:
  LastWords() = default;
  ~LastWords() { take_back(); }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// @param record  its absolute path, or empty  @param epoch  the last one in it
  void prepare(const std::string& record, double epoch);
  bool is_prepared() const { return place_ != nullptr; }
  /// Steps of the run so far. Costs a store.
  void set_step(std::uint64_t step);
  void take_back();

  /// Appends the line to the record of every run of this process, once each. Never kills the process. Safe in a signal
  /// handler.
  /// @param how  "failed" or "interrupted"  @param message  any text
  static void speak(const char* how, const char* message) noexcept;

 private:
  struct Place* place_ = nullptr;  // null while nothing is prepared
};

}  // namespace loupe
