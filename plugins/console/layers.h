#pragma once

#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "console/layout.h"
#include "console/table.h"

namespace loupe::console {

/// The layers of all models in their order: a strip in the colors of their health.
class Layers {
 public:
  void clear() { *this = {}; }
  /// Once more where a model is attached again.
  void take(const Model& model);
  std::size_t count() const { return names_.size(); }
  /// At most `width` columns; where there are more layers than that, several share one, which shows the worst.
  /// @param worst  LOUPE_SEVERITY_ by layer
  std::string strip(std::size_t width, const std::unordered_map<std::string, std::uint32_t>& worst,
                    const Layout& layout) const;

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

/// The first few plots that have a number for each layer, as one table; without those in which all are the same.
Table numbers_of_layers(const std::deque<Table>& tables);

}  // namespace loupe::console
