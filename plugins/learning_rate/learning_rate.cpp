#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace loupe {

class LearningRate : public Lens {
 public:
  static constexpr const char* name = "learning_rate";
  static constexpr const char* help = "the learning rate of each group of each optimizer, and its momentum";
  static std::vector<const char*> gives() {
    return {"Learning Rate: the rate that the epoch's last step was taken with; a band where it changed meanwhile",
            "Momentum: the same of the momentum, which is Adam's first beta, where asked for"};
  }
  static constexpr const char* example = "learning_rate: {log_scale: true, momentum: true}";
  static std::vector<Option> options() {
    return {{"momentum", false, "also show the momentum"},
            {"log_scale", false, "show learning rates on a logarithmic axis"}};
  }

  explicit LearningRate(const Options& options) : shows_momentum_(options.get<bool>("momentum")) {
    rate_style_.big = rate_style_.annotate = momentum_style_.big = momentum_style_.annotate = true;
    rate_style_.log_y = options.get<bool>("log_scale");
    rate_style_.description =
        "What each optimizer multiplies its updates by, a line for each group of parameters: as of the epoch's last "
        "step. The band reaches from the lowest to the highest of the epoch.";
    momentum_style_.description = "How much of the last update goes on into the next; Adam's first beta.";
  }

  void visit(const Module&) override {}
  void introduce(Report& report) override {
    report.tag(rate_tag, rate_style_);
    if (shows_momentum_) report.tag(momentum_tag, momentum_style_);
  }

  /// A schedule may change the rate at each step, and after the last one for the next epoch.
  void step(const loupe_step& step, Report&) override {
    if (step.optimizer == nullptr) return;
    std::vector<Group>& groups = used_[step.optimizer->id];
    if (groups.size() < step.optimizer->group_count) groups.resize(step.optimizer->group_count);
    for (std::size_t i = 0; i < step.optimizer->group_count; ++i) {
      groups[i].rate.use(step.optimizer->groups[i]->learning_rate);
      groups[i].momentum.use(step.optimizer->groups[i]->momentum);
    }
  }

  void report(Report& report) override {
    const loupe_tick& tick = report.tick();
    std::map<std::string, int> named;
    for (std::size_t i = 0; i < tick.optimizer_count; ++i) {
      const loupe_optimizer& optimizer = *tick.optimizers[i];
      std::string shown = optimizer.model != nullptr && *optimizer.model != '\0'
                              ? std::string(optimizer.model) + " " + optimizer.type
                              : std::string(optimizer.type);
      if (const int before = named[shown]++; before > 0) shown += " " + std::to_string(before + 1);
      for (std::size_t group = 0; group < optimizer.group_count; ++group) {
        const std::string line = optimizer.group_count > 1 ? shown + " group " + std::to_string(group) : shown;
        const Group used = of(optimizer, group);
        write(report, rate_tag, line, used.rate);
        if (shows_momentum_) write(report, momentum_tag, line, used.momentum);
      }
    }
    begin_anew(tick);
  }

 private:
  static constexpr const char* rate_tag = "Learning Rate";
  static constexpr const char* momentum_tag = "Momentum";

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
    set.rate.use(optimizer.groups[group]->learning_rate);
    set.momentum.use(optimizer.groups[group]->momentum);
    return set;
  }

  static void write(Report& report, const char* tag, const std::string& line, const Used& used) {
    if (std::isnan(used.last)) return;
    report.value(tag, line, used.last);
    if (used.lowest < used.highest) report.range(tag, line + " min", line + " max", used.lowest, used.highest);
  }

  bool shows_momentum_;
  TagStyle rate_style_, momentum_style_;
  std::map<uint64_t, std::vector<Group>> used_;  // by the optimizer's id
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"learning_rate", "0.1.0", "What optimizers are set to.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::LearningRate);
