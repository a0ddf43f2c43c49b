#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "console/findings.h"
#include "console/headlines.h"
#include "console/layers.h"
#include "console/region.h"

namespace loupe::console {

/// What there is to show of a run at the moment.
struct PanelView {
  std::string title;     ///< the run's name
  std::string progress;  ///< "" before the first
  const Headlines& headlines;
  const Findings& findings;
  bool looks_for_findings;  ///< else it is not said that there are none
  const Layers& layers;
  const std::deque<Table>& tables;  ///< of the last tick
};

/// At most 12 lines, each shorter than the terminal is wide: a title with the number of findings, progress, losses with
/// their curves, the worst findings, and the layers in the colors of their health. On 160 columns and more the numbers
/// of the layers stand beside them.
std::vector<std::string> panel_of(const PanelView& view, const Size& size, const Layout& layout);

/// Whether a terminal has room for it and for what the program prints.
bool has_room_for_panel(const Size& size);

}  // namespace loupe::console
