#include <loupe/lenses/learning_rates.h>
#include <loupe/plugin.h>

#include <vector>

namespace loupe {

class LearningRate : public Lens {
 public:
  static constexpr const char* name = "learning_rate";
  static constexpr const char* help = "the learning rate of each group of each optimizer, and its momentum";
  static std::vector<const char*> gives() {
    return {"Learning Rate: the rate of the epoch's last step; a band if it changed meanwhile",
            "Momentum: the same of the momentum, which is Adam's first beta, if requested"};
  }
  static constexpr const char* example = "learning_rate: {log_scale: true, momentum: true}";
  static std::vector<Option> options() {
    return {{"momentum", false, "also show the momentum"},
            {"log_scale", false, "show learning rates on a logarithmic axis"}};
  }

  explicit LearningRate(const Options& options)
      : shows_momentum_(options.get<bool>("momentum")), log_scale_(options.get<bool>("log_scale")) {}

  void visit(const Module&) override {}
  void step(const loupe_step& step, Report&) override { rates_.step(step); }
  void report(Report& report) override {
    LearningRates::introduce_rates(report, log_scale_);
    if (shows_momentum_) LearningRates::introduce_momentum(report);
    rates_.report(report, true, shows_momentum_);
  }

 private:
  bool shows_momentum_, log_scale_;
  LearningRates rates_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"learning_rate", LOUPE_VERSION, "What optimizers are set to.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::LearningRate);
