#pragma once

#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "console/findings.h"
#include "console/headlines.h"
#include "console/table.h"
#include "console/terminal.h"

namespace loupe::console {

/// The layers of all models in order: a strip in the colors of their health.
class Layers {
 public:
  void clear() { *this = {}; }
  /// Call this again if a model is attached again.
  void take(const Model& model);
  std::size_t count() const { return names_.size(); }
  /// A sign for each layer, with blanks between them if there is room. At most `width` columns; if there are more
  /// layers, several share a column, which shows the worst.
  /// @param worst  LOUPE_SEVERITY_ by layer
  std::string strip(std::size_t width, const std::unordered_map<std::string, std::uint32_t>& worst,
                    const Layout& layout) const;

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

/// The data that the panel shows.
struct PanelView {
  std::string title;     ///< the run's name
  std::string progress;  ///< "" before there is any
  const Headlines& headlines;
  const Findings& findings;
  bool looks_for_findings;  ///< whether to write that there are no findings
  const Layers& layers;
  const std::deque<Table>& tables;  ///< of the last tick
};

/// At most half of the terminal's rows, but 12 if that is less, each shorter than its width: a title with the number of
/// findings, progress, losses with their curves, the layers in the colors of their health, and the worst findings.
/// Findings and the remedy of the worst one get their rows first. A terminal of 160 columns or more also shows the
/// numbers of the layers, at the right.
std::vector<std::string> panel_of(const PanelView& view, const Size& size, const Layout& layout);

/// Whether a terminal has room for the panel and for the program's output.
bool has_room_for_panel(const Size& size);

}  // namespace loupe::console
