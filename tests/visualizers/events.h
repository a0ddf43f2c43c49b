#pragma once

#include <loupe/finding.h>

#include <cmath>
#include <string>

#include "driver.h"

namespace loupe::test {

/// A finding to change as a test needs it.
inline Finding a_finding(const std::string& rule, uint32_t severity = LOUPE_SEVERITY_WARNING,
                         const std::string& message = "something is odd") {
  Finding finding{rule, severity, message};
  finding.first_epoch = finding.last_epoch = 1;
  return finding;
}
inline Finding gone(Finding finding) {
  finding.state = LOUPE_FINDING_GONE;
  return finding;
}

/// @param layer  the module as shown; "" for none
inline std::string tell(Driver& driver, const Finding& finding, const std::string& layer = "",
                        const char* source = nullptr) {
  loupe_finding told = finding.c_form();
  if (!layer.empty()) told.layer = layer.c_str();
  told.source = source;
  return driver.finding(told);
}
inline std::string tell_note(Driver& driver, uint32_t kind, const std::string& text, double epoch = 1,
                             uint64_t finding = 0) {
  return driver.tell(&loupe_visualizer::note,
                     loupe_note{sizeof(loupe_note), kind, text.c_str(), {7, epoch, 1714564800.25, 0.25}, finding});
}
inline std::string tell_setting(Driver& driver, const std::string& name, double number) {
  return driver.tell(&loupe_visualizer::hyperparameter,
                     loupe_option_value{sizeof(loupe_option_value), LOUPE_TYPE_NUMBER, name.c_str(), 0, number, nullptr,
                                        nullptr, 0, nullptr});
}
/// As a host ends a run: flush, then end.
inline std::string tell_end(Driver& driver, uint32_t how, double epoch, const char* message = nullptr) {
  const std::string failure = driver.flush();
  const std::string last = driver.tell(
      &loupe_visualizer::end, loupe_ending{sizeof(loupe_ending), how, {120, epoch, 1714564999.5, 199.5}, message});
  return failure.empty() ? last : failure;
}

}  // namespace loupe::test
