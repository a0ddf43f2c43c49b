#pragma once

#include <cstddef>
#include <vector>

#include "console/table.h"

namespace loupe::console {

enum class Severity { calm, notable, alarming };

/// How bad the numbers of a table are:
/// - one that is not finite is alarming;
/// - the first of a row of which a finding stands is as bad as that: an error alarming, a warning notable;
/// - of probabilities, a death rate above 0.2 is notable and above 0.5 alarming, an activation rate below 0.1 and 0.02;
/// - one that grew tenfold since the last tick is notable, a thousandfold alarming.
/// Layers are not compared with each other: where the gradients of most have vanished, the healthy one stands apart.
class Severities {
 public:
  explicit Severities(const Table& table) : table_(table) {}

  Severity of(std::size_t row, std::size_t column) const;
  /// Indices of at most so many rows, 0 for all, as they are to be shown. Probabilities: the worst first, by severity,
  /// then the least activation rate or the largest death rate. Other numbers: in the order of the model, where they
  /// fade or grow from layer to layer; of more rows than that, the bad ones and others evenly spread over the model.
  std::vector<std::size_t> shown(std::size_t most) const;

 private:
  std::vector<std::size_t> worst_first() const;
  std::vector<std::size_t> over_the_model(std::size_t most) const;
  Severity worst_of(std::size_t row) const;
  double score(std::size_t row) const;

  const Table& table_;
};

}  // namespace loupe::console
