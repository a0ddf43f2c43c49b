#ifndef LOUPE_FINDING_H
#define LOUPE_FINDING_H

#include <loupe/abi.h>
#include <loupe/text/text_of.h>

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
  std::string tag = {};     ///< the plot that shows it
  std::string layer = {};   ///< the module as shown; the module's name when empty
  std::string source = {};  ///< who found it; the host's to fill in
  double value = NAN, threshold = NAN;
  uint32_t state = LOUPE_FINDING_RAISED;
  uint64_t first_step = 0, last_step = 0;
  double first_epoch = 0, last_epoch = 0;
  uint64_t count = 1;

  /// What the host tells; the module is left out, which may be detached before this is read.
  static Finding from(const loupe_finding& told) {
    Finding finding;
    finding.rule = text_of(told.rule);
    finding.severity = told.severity;
    finding.message = text_of(told.message);
    finding.advice = text_of(told.advice);
    finding.parameter = text_of(told.parameter);
    finding.tag = text_of(told.tag);
    finding.layer = text_of(told.layer);
    finding.source = text_of(told.source);
    finding.value = told.value;
    finding.threshold = told.threshold;
    finding.state = told.state;
    finding.first_step = told.first_step;
    finding.last_step = told.last_step;
    finding.first_epoch = told.first_epoch;
    finding.last_epoch = told.last_epoch;
    finding.count = told.count;
    return finding;
  }
  /// The form that crosses the boundary; borrows from this.
  loupe_finding c_form() const {
    loupe_finding told{};
    told.struct_size = sizeof told;
    told.severity = severity;
    told.state = state;
    told.rule = rule.c_str();
    told.module = module;
    told.layer = layer.empty() && module != nullptr ? module->name : or_null(layer);
    told.parameter = or_null(parameter);
    told.message = message.c_str();
    told.advice = or_null(advice);
    told.tag = or_null(tag);
    told.source = or_null(source);
    told.value = value;
    told.threshold = threshold;
    told.first_step = first_step;
    told.last_step = last_step;
    told.first_epoch = first_epoch;
    told.last_epoch = last_epoch;
    told.count = count;
    return told;
  }

 private:
  static const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
};

}  // namespace loupe

#endif
