#ifndef LOUPE_CONSOLE_PROGRESS_LINE_H
#define LOUPE_CONSOLE_PROGRESS_LINE_H

#include <loupe/visualizer.h>

#include <cstddef>
#include <string>

namespace loupe::console {

/// "epoch 3 of 20  ━━━━━╸────  412 of 938 steps  98.3 steps/s  2 min 10 s left", at most `width` columns: what does not
/// fit is left out, the least needed first.
std::string progress_line(const Progress& progress, std::size_t width);

/// "45 s", "2 min 10 s", "3 h 5 min".
std::string duration_text(double seconds);

}  // namespace loupe::console

#endif
