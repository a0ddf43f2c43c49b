#pragma once

#include <loupe/detail/parameter_group.h>
#include <loupe/lenses/explanation.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The settings that the steps of an epoch used: the plots "Learning Rate" and "Momentum", with a line for each group
/// of each optimizer.
class LearningRates {
 public:
  static constexpr const char* rate_tag = "Learning Rate";
  static constexpr const char* momentum_tag = "Momentum";

  static void introduce_rates(Report& report, bool log_scale) {
    TagStyle style = explained(
        {},
        {"The factor of each optimizer's updates at the epoch's last step, a line for each group of parameters. The "
         "band covers the epoch's lowest and highest rate.",
         "It follows your setting: level, rising in a warm-up, falling with its schedule.",
         "After an unexpected jump or 0, check whether the scheduler steps once a step or once an epoch, and whether a "
         "resumed run restored its state."});
    style.big = style.annotate = true;
    style.shared = true;  // the value is the optimizer's, whichever lens reports it
    style.log_y = log_scale;
    report.tag(rate_tag, style);
  }
  static void introduce_momentum(Report& report) {
    TagStyle style = explained({}, {"The share of the last update that enters the next one; for Adam, its first beta.",
                                    "Level; 0.9 in most recipes.",
                                    "Lower it if updates oscillate, which shows as a negative update correlation."});
    style.big = style.annotate = true;
    report.tag(momentum_tag, style);
  }

  /// Call it in Lens::step: a schedule may change the rate at each step, and after the last one for the next epoch.
  void step(const loupe_step& step) {
    if (step.optimizer == nullptr) return;
    std::vector<Group>& groups = used_[step.optimizer->id];
    if (groups.size() < step.optimizer->group_count) groups.resize(step.optimizer->group_count);
    for (std::size_t i = 0; i < step.optimizer->group_count; ++i) groups[i].use(*step.optimizer->groups[i]);
  }

  /// Call it in Lens::report. Forgets the epoch afterwards.
  void report(Report& report, bool rates, bool momentum) {
    const loupe_tick& tick = report.tick();
    std::map<std::string, int> named;
    for (std::size_t i = 0; i < tick.optimizer_count; ++i) {
      const loupe_optimizer& optimizer = *tick.optimizers[i];
      std::string shown = optimizer.model_name != nullptr && *optimizer.model_name != '\0'
                              ? std::string(optimizer.model_name) + " " + optimizer.type
                              : std::string(optimizer.type);
      if (const int before = named[shown]++; before > 0) shown += " " + std::to_string(before + 1);
      for (std::size_t group = 0; group < optimizer.group_count; ++group) {
        const std::string line = optimizer.group_count > 1 ? shown + " group " + std::to_string(group) : shown;
        const Group used = of(optimizer, group);
        if (rates) write(report, rate_tag, line, used.rate);
        if (momentum) write(report, momentum_tag, line, used.momentum);
      }
    }
    begin_anew(tick);
  }

 private:
  /// The settings of the steps since the last report. NaN if the optimizer does not report them.
  struct Used {
    double last = NAN, lowest = NAN, highest = NAN;
    void use(double value) {
      last = value;
      lowest = std::fmin(lowest, value);
      highest = std::fmax(highest, value);
    }
  };
  struct Group {
    Used rate, momentum;
    void use(const loupe_parameter_group& group) {
      rate.use(learning_rate_of(group).value_or(NAN));
      momentum.use(momentum_of(group).value_or(NAN));
    }
  };

  /// Forgets the epoch, and optimizers that are no longer attached.
  void begin_anew(const loupe_tick& tick) {
    for (auto each = used_.begin(); each != used_.end();) {
      const bool attached = std::any_of(tick.optimizers, tick.optimizers + tick.optimizer_count,
                                        [&](const loupe_optimizer* optimizer) { return optimizer->id == each->first; });
      std::fill(each->second.begin(), each->second.end(), Group());
      each = attached ? std::next(each) : used_.erase(each);
    }
  }

  /// The optimizer's current settings, for an epoch without steps.
  Group of(const loupe_optimizer& optimizer, std::size_t group) const {
    const auto known = used_.find(optimizer.id);
    const bool stepped = known != used_.end() && group < known->second.size();
    if (stepped && !std::isnan(known->second[group].rate.last)) return known->second[group];
    Group set;
    set.use(*optimizer.groups[group]);
    return set;
  }

  static void write(Report& report, const char* tag, const std::string& line, const Used& used) {
    if (std::isnan(used.last)) return;
    Report::Row row(report);
    row.value(line, used.last);
    if (used.lowest < used.highest) row.range(line + " min", line + " max", used.lowest, used.highest);
    row.tell(tag);
  }

  std::map<uint64_t, std::vector<Group>> used_;  // by the optimizer's id
};

}  // namespace v1_0
}  // namespace loupe
