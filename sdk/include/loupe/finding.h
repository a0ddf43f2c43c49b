#pragma once

#include <loupe/abi.h>
#include <loupe/text/words.h>

#include <optional>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// The measured value of a finding, if it has one.
inline std::optional<double> value_of(const loupe_finding& told) {
  return (told.flags & LOUPE_FINDING_HAS_VALUE) != 0 ? std::optional(told.value) : std::nullopt;
}
/// The limit, if the finding has one.
inline std::optional<double> threshold_of(const loupe_finding& told) {
  return (told.flags & LOUPE_FINDING_HAS_THRESHOLD) != 0 ? std::optional(told.threshold) : std::nullopt;
}

/// What is wrong, in words: see loupe_finding. Lens, rule, layer and parameter are its identity; a finding with the
/// same identity replaces the earlier one.
struct Finding {
  std::string rule;  ///< snake_case: "vanishing_gradient"
  uint32_t severity = LOUPE_SEVERITY_WARNING;
  std::string message;                   ///< one sentence with its figures
  std::string advice = {};               ///< one sentence; may be empty
  const loupe_module* module = nullptr;  ///< null if it concerns no single module
  std::string parameter = {};
  std::string tag = {};        ///< the plot that shows it
  std::string layer = {};      ///< the module as shown; if empty, the module's name
  std::string caused_by = {};  ///< the rule of another finding of this lens that may have caused it
  std::string file = {};       ///< in the program's source; the host fills it in if it is empty
  uint32_t line = 0;           ///< in that file
  std::optional<double> value = {}, threshold = {};
  bool is_over = false;
  uint64_t first_step = 0, last_step = 0;
  double first_epoch = 0, last_epoch = 0;
  uint64_t count = 1;

  // The host fills these in; Report::finding leaves them out.
  uint64_t id = 0;          ///< its number
  uint32_t state = 0;       ///< LOUPE_FINDING_RAISED, …
  std::string source = {};  ///< who found it

  /// Converts a finding of the host; drops the module, which may be detached before this is read.
  static Finding from(const loupe_finding& told) {
    Finding finding;
    finding.rule = text_of(told.rule);
    finding.severity = told.severity;
    finding.message = text_of(told.message);
    finding.advice = text_of(told.advice);
    finding.parameter = text_of(told.parameter);
    finding.tag = text_of(told.tag);
    finding.layer = text_of(told.layer);
    finding.caused_by = text_of(told.caused_by);
    finding.file = text_of(told.file);
    finding.line = told.line;
    finding.value = value_of(told);
    finding.threshold = threshold_of(told);
    finding.is_over = (told.flags & LOUPE_FINDING_OVER) != 0 || told.state == LOUPE_FINDING_GONE;
    finding.first_step = told.first_step;
    finding.last_step = told.last_step;
    finding.first_epoch = told.first_epoch;
    finding.last_epoch = told.last_epoch;
    finding.count = told.count;
    finding.id = told.id;
    finding.state = told.state;
    finding.source = text_of(told.source);
    return finding;
  }
  /// The form that crosses the boundary; borrows from this.
  loupe_finding c_form() const {
    loupe_finding told{};
    told.struct_size = sizeof told;
    told.severity = severity;
    told.flags = (value ? uint32_t{LOUPE_FINDING_HAS_VALUE} : 0u) |
                 (threshold ? uint32_t{LOUPE_FINDING_HAS_THRESHOLD} : 0u) |
                 (is_over ? uint32_t{LOUPE_FINDING_OVER} : 0u);
    told.state = state;
    told.id = id;
    told.rule = rule.c_str();
    told.module = module;
    told.layer = layer.empty() && module != nullptr ? module->name : or_null(layer);
    told.parameter = or_null(parameter);
    told.message = message.c_str();
    told.advice = or_null(advice);
    told.tag = or_null(tag);
    told.source = or_null(source);
    told.caused_by = or_null(caused_by);
    told.file = or_null(file);
    told.line = line;
    told.value = value.value_or(0);
    told.threshold = threshold.value_or(0);
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

}  // namespace v1_0
}  // namespace loupe
