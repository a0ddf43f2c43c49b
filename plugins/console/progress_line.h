#pragma once

#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace loupe::console {

/// "epoch 3 of 20  ━━━━━╸────  412 of 938 steps  98.3 steps/s  2 min 10 s left  lenses 4 %", at
/// most `width` columns: what does not
/// fit is left out, the least needed first.
std::string progress_line(const Progress& progress, std::size_t width);

/// How long a tick's epoch took, and how many steps a second.
class Pace {
 public:
  void take(const Tick& tick);
  /// "12.4 s  98.3 steps/s"; "" where neither is known.
  std::string text() const;

 private:
  double last_elapsed_ = 0, seconds_ = 0;
  std::uint64_t last_step_ = 0, steps_ = 0;
};

/// "45 s", "2 min 10 s", "3 h 5 min".
std::string duration_text(double seconds);

}  // namespace loupe::console
