#pragma once

#include <cstdint>
#include <string>

namespace loupe {

/// What a run's record says of an end at which no code may run but a signal handler's: a line of the kind "end", ready
/// to be appended. One of a run; it is taken back where the run ends otherwise.
class LastWords {
 public:
  LastWords() = default;
  ~LastWords() { take_back(); }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// @param record  its absolute path; empty where there is none  @param epoch  the last that is in it
  void prepare(const std::string& record, double epoch);
  bool is_prepared() const { return place_ != nullptr; }
  /// Steps of the run so far. Costs a store.
  void set_step(std::uint64_t step);
  void take_back();

  /// Appends its line to every record that is there, of the runs of this process; each only once. Nothing that it does
  /// kills the process. Safe in a signal handler.
  /// @param how  "failed" or "interrupted"  @param message  any text
  static void speak(const char* how, const char* message) noexcept;

 private:
  struct Place* place_ = nullptr;  // null while nothing is prepared
};

}  // namespace loupe
