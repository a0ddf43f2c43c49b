#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "timing/step_timer.h"

namespace loupe {

/// A few steps as Chrome's trace events, which Perfetto and chrome://tracing show: modules as they ran within each
/// other, forward, backward, optimizer and Loupe on a track each, and findings as marks. Calls come one at a time.
class StepTrace {
 public:
  /// @param steps  how many to take
  explicit StepTrace(uint64_t steps) : wanted_(steps) {}

  /// A device's step begins no earlier than the one before ended: it is laid behind that.
  void add(TimedStep step);
  /// Of those that are raised. @param when  as steady_time tells it
  void add(const loupe_finding& finding, double when);
  uint64_t steps() const { return steps_; }
  bool is_whole() const { return steps_ >= wanted_; }
  /// Throws std::system_error where the file cannot be written.
  void write(const std::filesystem::path& file, const std::string& run) const;

 private:
  struct Event {
    std::string name, category, arguments;  ///< arguments as JSON
    int track;
    double begin, end;  ///< seconds; a mark where they are the same and `is_mark`
    bool is_mark = false;
  };
  void add_backward(const TimedStep& step, const std::vector<std::string>& layers);
  void add_containers(std::size_t from, int track);

  uint64_t wanted_, steps_ = 0;
  double end_ = 0;  ///< of the last step
  std::vector<Event> events_;
};

}  // namespace loupe
