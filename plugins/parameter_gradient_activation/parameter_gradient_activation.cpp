#include "common/activation_plots.h"
#include "common/gradient_option.h"
#include "common/parameters.h"

namespace loupe {

class ParameterGradientActivation : public Lens {
 public:
  static constexpr const char* name = "parameter_gradient_activation";
  static constexpr const char* help = "how much of each parameter's gradient is active, and how many units get none";
  static std::vector<Option> options() {
    std::vector<Option> options = ActivationPlots::options();
    options.push_back(parameters_option());
    options.push_back(gradient_option());
    return options;
  }

  explicit ParameterGradientActivation(const Options& options)
      : plots_(options, "Warning Gradient Activations"), parameters_(options), gatherer_(gradient_gatherer(options)) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module, {gatherer_,
                            parameter,
                            "gradient_activation",
                            {{"inplace", plots_.inplace()}, {"quantiles", plots_.need_quantiles()}}});
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void introduce(Report& report) override {
    for (const auto& parameter : parameters_) plots_.introduce(report, parameter.title + " Gradient Activation");
    plots_.introduce_warnings(report);
  }
  void report(Report& report) override {
    for (const auto& parameter : parameters_) {
      plots_.write(report, parameter.title + " Gradient Activation", parameter.layers);
    }
    plots_.write_warnings(report);
  }

 private:
  ActivationPlots plots_;
  Parameters parameters_;
  const char* gatherer_;
};

}  // namespace loupe

LOUPE_PLUGIN("parameter_gradient_activation", "0.1.0", loupe::ParameterGradientActivation);
