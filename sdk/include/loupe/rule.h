#pragma once

#include <loupe/detail/standing_finding.h>
#include <loupe/error.h>
#include <loupe/report.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// A rule of a lens, which turns violations at ticks into one finding. It is reported after `patience` ticks in a row
/// with a violation, for the worst layer and with the number of others; again if it gets ten times as bad or more
/// severe; and resolved after `cooldown` ticks without one.
///
///     loupe::Rule low_rank_{"low_rank"};
///     …
///     for (const loupe::Layer& layer : layers()) {          // in report()
///       const auto rank = layer.source.get("value");
///       if (rank && *rank < 2) low_rank_.see({layer.module, *rank, 2, "the rank of '" + layer.name + "' is below 2"});
///     }
///     low_rank_.end_tick(report);
class Rule {
 public:
  /// One layer that breaks the rule.
  struct Seen {
    const loupe_module* module;  ///< null if it concerns no single module
    double value, threshold;     ///< the farther the value is beyond the threshold, on either side, the worse
    std::string message;         ///< one sentence with its figures
    std::string advice = {};     ///< one sentence; may be empty
    uint32_t severity = LOUPE_SEVERITY_WARNING;
    std::string tag = {};        ///< the plot that shows it
    std::string caused_by = {};  ///< the rule of another finding of this lens that may have caused it
  };

  /// @param name  snake_case: "low_rank"  @param patience, cooldown  in ticks, at least 1
  explicit Rule(std::string name, int patience = 2, int cooldown = 3)
      : name_(std::move(name)), patience_(patience), cooldown_(cooldown) {}

  /// Call it in Lens::report once for each layer that breaks the rule at this tick. Throws Error if the last report did
  /// not call end_tick.
  void see(const Seen& seen) {
    const uint64_t report = detail::reports_of_thread();
    if (!seen_.empty() && report != report_)
      throw Error("the rule '" + name_ + "' was seen in the last report, which did not end it: call end_tick(report) " +
                  "at each report, after see()");
    report_ = report;
    Finding finding;
    finding.rule = name_;
    finding.severity = seen.severity;
    finding.module = seen.module;
    if (seen.module != nullptr) finding.layer = seen.module->name;
    finding.message = seen.message;
    finding.advice = seen.advice;
    finding.tag = seen.tag;
    finding.caused_by = seen.caused_by;
    finding.value = seen.value;
    finding.threshold = seen.threshold;
    seen_.push_back(std::move(finding));
  }
  /// Call it in Lens::report, after see().
  void end_tick(Report& report) {
    const Finding* told = nullptr;
    for (const Finding& each : seen_) {
      // An open finding keeps its layer as long as that breaks the rule.
      const bool stays = standing_.stands() && each.layer == standing_.finding().layer;
      if (stays || told == nullptr || (!is_told_of(*told) && is_worse(each, *told))) told = &each;
    }
    if (told != nullptr) {
      if (standing_.stands() && !is_told_of(*told)) standing_.end(report);
      standing_.finding().rule = told->rule;
      standing_.finding().layer = told->layer;
      Finding now = *told;
      if (seen_.size() > 1) {
        const std::size_t others = seen_.size() - 1;
        now.message += others == 1 ? "; also one other layer" : "; " + std::to_string(others) + " other layers";
      }
      standing_.see(now);
      if (standing_.streak() >= patience_) standing_.tell(report);
    }
    seen_.clear();
    standing_.end_stretch(report, /*is_open=*/false, cooldown_);
    standing_.finding().module = nullptr;  // it may be detached before the next tick
  }
  bool stands() const { return standing_.stands(); }

 private:
  bool is_told_of(const Finding& seen) const { return standing_.stands() && seen.layer == standing_.finding().layer; }
  static bool is_worse(const Finding& a, const Finding& b) {
    return a.severity != b.severity ? a.severity > b.severity : distance(a) > distance(b);
  }
  static double distance(const Finding& seen) { return detail::distance_beyond(*seen.value, *seen.threshold); }

  std::string name_;
  int patience_, cooldown_;
  std::vector<Finding> seen_;
  uint64_t report_ = 0;  // the report in which they were seen
  detail::StandingFinding standing_;
};

}  // namespace v1_0
}  // namespace loupe
