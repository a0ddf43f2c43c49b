#ifndef LOUPE_CONSOLE_SEVERITY_H
#define LOUPE_CONSOLE_SEVERITY_H

#include <cstddef>
#include <vector>

#include "console/table.h"

namespace loupe::console {

enum class Severity { calm, notable, alarming };

/// How bad the numbers of a table are:
/// - one that is not finite is alarming;
/// - of probabilities, a death rate above 0.2 is notable and above 0.5 alarming, an activation rate below 0.1 and 0.02;
/// - of other numbers of four layers or more, one 30 times above or below the median is notable, 1000 times alarming;
/// - one that grew tenfold since the last tick is notable, a thousandfold alarming.
class Severities {
 public:
  explicit Severities(const Table& table);

  Severity of(std::size_t row, std::size_t column) const;
  /// Indices of rows, the worst first: by severity, then the least activation rate or the largest death rate, or, of
  /// other numbers, the largest magnitude.
  std::vector<std::size_t> worst_first() const;

 private:
  Severity worst_of(std::size_t row) const;
  double score(std::size_t row) const;

  const Table& table_;
  std::vector<double> medians_;  ///< NaN for a column in which layers are not compared
};

}  // namespace loupe::console

#endif
