#include <loupe/lenses/activation_plots.h>
#include <loupe/lenses/stream_options.h>
#include <loupe/parameters.h>

namespace loupe {

class ParameterGradientActivation : public Lens {
 public:
  static constexpr const char* name = "parameter_gradient_activation";
  static constexpr const char* help = "how much of each parameter's gradient is active, and how many units get none";
  static std::vector<const char*> gives() {
    return {"Weight Gradient Activation: the share of active entries, and of units whose gradient is zero",
            "Bias Gradient Activation: the same of biases",
            "Worst Gradient Activations: the lowest activation and the highest death rate of all parameters",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "parameter_gradient_activation: {parameters: weights}";
  static std::vector<Option> options() {
    return joined_options({ActivationPlots::options(), Parameters::options(), {gradient_option()}});
  }

  ParameterGradientActivation(const Options& options, const Host& host)
      : host_(host),
        plots_(options, "Worst Gradient Activations"),
        parameters_(options),
        gatherer_(gradient_gatherer(options)) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module,
                   Watch(gatherer_).label(parameter).preprocessor(
                       "gradient_activation", {{"inplace", plots_.inplace()}, {"quantiles", plots_.need_quantiles()}}));
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void report(Report& report) override {
    tell_tags(report);
    parameters_.warn(host_);
    for (const auto& role : parameters_) {
      plots_.write(report, role.title + " Gradient Activation", role.layers);
    }
    plots_.write_warnings(report);
  }

 private:
  void tell_tags(Report& report) {
    for (const auto& role : parameters_) {
      plots_.introduce(report, role.title + " Gradient Activation", words());
    }
    plots_.introduce_warnings(report);
  }

  static Explanation words() {
    return {
        "activation_rate is the share of a gradient's entries above 1e-8 in size; death_rate is the share "
        "of units, along the first dimension, without such an entry.",
        "An activation rate near 1 and a death rate near 0. Embeddings are different: only the rows "
        "that a batch uses get a gradient.",
        "Units without a gradient are not trained: those behind them are dead or cut off; see Output "
        "Activations."};
  }

  Host host_;
  ActivationPlots plots_;
  Parameters parameters_;
  const char* gatherer_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_gradient_activation", LOUPE_VERSION,
                                     "Activity of the parameters' gradients.", "the authors of Loupe", "MIT"}),
                  loupe::ParameterGradientActivation);
