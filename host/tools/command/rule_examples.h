#pragma once

#include <string>
#include <vector>

namespace loupe {

/// A few lines of a trainer with a fault that a rule finds, and the same lines repaired.
struct RuleExample {
  const char* rule;
  std::string fault, repair;
  const char* help = "";  ///< severity and meaning, if no component has them in its `gives`
};

/// One example for each rule of the host and its lenses.
const std::vector<RuleExample>& rule_examples();

}  // namespace loupe
