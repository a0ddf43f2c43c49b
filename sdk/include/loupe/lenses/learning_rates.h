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

/// What optimizers are set to, as the steps of an epoch were taken with: the plots "Learning Rate" and "Momentum", a
/// line for each group of each optimizer.
class LearningRates {
 public:
  static constexpr const char* rate_tag = "Learning Rate";
  static constexpr const char* momentum_tag = "Momentum";

  static void introduce_rates(Report& report, bool log_scale) {
    TagStyle style = explained(
        {}, {"What each optimizer multiplies its updates by, a line for each group of parameters: as of the epoch's "
             "last step. The band reaches from the lowest to the highest of the epoch.",
             "It is what you have set: level, rising in a warm-up, falling with its schedule.",
             "A jump or a 0 that you have not asked for: look where the scheduler is stepped, once a step or once an "
             "epoch, and whether a resumed run took its state along."});
    style.big = style.annotate = true;
    style.shared = true;  // it is one of the optimizer, whoever tells it
    style.log_y = log_scale;
    report.tag(rate_tag, style);
  }
  static void introduce_momentum(Report& report) {
    TagStyle style = explained(
        {}, {"How much of the last update goes on into the next; Adam's first beta.", "Level; 0.9 in most recipes.",
             "Lower it where updates swing to and fro, which shows as a negative update correlation."});
    style.big = style.annotate = true;
    report.tag(momentum_tag, style);
  }

  /// For Lens::step: a schedule may change the rate at each step, and after the last one for the next epoch.
  void step(const loupe_step& step) {
    if (step.optimizer == nullptr) return;
    std::vector<Group>& groups = used_[step.optimizer->id];
    if (groups.size() < step.optimizer->group_count) groups.resize(step.optimizer->group_count);
    for (std::size_t i = 0; i < step.optimizer->group_count; ++i) groups[i].use(*step.optimizer->groups[i]);
  }

  /// For Lens::report. Forgets the epoch afterwards.
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
  /// What steps were taken with since the last report. NaN where the optimizer does not say.
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

  /// Keeps the memory of the optimizers that are still attached.
  void begin_anew(const loupe_tick& tick) {
    for (auto each = used_.begin(); each != used_.end();) {
      const bool attached = std::any_of(tick.optimizers, tick.optimizers + tick.optimizer_count,
                                        [&](const loupe_optimizer* optimizer) { return optimizer->id == each->first; });
      std::fill(each->second.begin(), each->second.end(), Group());
      each = attached ? std::next(each) : used_.erase(each);
    }
  }

  /// In an epoch without steps, what it is set to.
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
