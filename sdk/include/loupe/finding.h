#ifndef LOUPE_FINDING_H
#define LOUPE_FINDING_H

#include <loupe/abi.h>

#include <cmath>
#include <string>

namespace loupe {

/// What is wrong, in words: see loupe_finding. Rule, module and parameter are its identity; told again, it replaces
/// what was said before.
struct Finding {
  std::string rule;  ///< snake_case: "vanishing_gradient"
  uint32_t severity = LOUPE_SEVERITY_WARNING;
  std::string message;                   ///< one sentence with its figures
  std::string advice = {};               ///< one sentence; empty where nothing can be said
  const loupe_module* module = nullptr;  ///< null where it concerns no one module
  std::string parameter = {};
  std::string tag = {};  ///< the plot that shows it
  double value = NAN, threshold = NAN;
  uint32_t state = LOUPE_FINDING_RAISED;
  uint64_t first_step = 0, last_step = 0;
  double first_epoch = 0, last_epoch = 0;
  uint64_t count = 1;

  /// The form that crosses the boundary; borrows from this.
  loupe_finding c_form() const {
    return {sizeof(loupe_finding),
            severity,
            state,
            0,
            rule.c_str(),
            module,
            module != nullptr ? module->name : nullptr,
            or_null(parameter),
            message.c_str(),
            or_null(advice),
            or_null(tag),
            nullptr,
            value,
            threshold,
            first_step,
            last_step,
            first_epoch,
            last_epoch,
            count};
  }

 private:
  static const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
};

}  // namespace loupe

#endif
