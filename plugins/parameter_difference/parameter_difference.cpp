#include <loupe/lenses/geometry_plots.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

namespace loupe {

class ParameterDifference : public Lens {
 public:
  static constexpr const char* name = "parameter_difference";
  static constexpr const char* help = "how far each optimizer step moves a parameter, and how that turns";
  static std::vector<const char*> gives() {
    return {"Weight Update Norm: the L2 norm of what a step changes of each weight",
            "Weight Update Correlation: the cosine between it and the change before, from -1 to 1",
            "Bias Update Norm: the L2 norm of what a step changes of each bias",
            "Bias Update Correlation: the cosine between it and the change before, from -1 to 1",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "parameter_difference: {parameters: weights, log_scale: true}";
  static std::vector<const char*> aliases() { return {"parameter_update_geometry"}; }
  static std::vector<Option> options() {
    std::vector<Option> options = GeometryPlots::options();
    for (Option& option : Parameters::options()) options.push_back(std::move(option));
    return options;
  }

  ParameterDifference(const Options& options, const Host& host) : host_(host), plots_(options), parameters_(options) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module, Watch("optimizer_step")
                               .label(parameter)
                               .preprocessor("parameter_difference_geometry", plots_.preprocessor_options()));
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void report(Report& report) override {
    tell_tags(report);
    parameters_.warn(host_);
    for (const auto& role : parameters_) plots_.write(report, role.title + " Update", role.layers);
  }

 private:
  void tell_tags(Report& report) {
    for (const auto& role : parameters_) {
      plots_.introduce(report, role.title + " Update", norm_explained(), correlation_explained());
    }
  }

  static Explanation norm_explained() {
    return {
        "How far an optimizer step moves a parameter: the L2 norm of its values after the step minus "
        "those before it.",
        "Falling with the learning rate, of the same order in layers of the same size, and about a "
        "thousandth of the parameter's own norm.",
        "0: the parameter is not trained, for it has no gradient, a rate of 0, or no optimizer. "
        "Growing or jumping: lower the learning rate, warm it up, or clip gradients."};
  }
  static Explanation correlation_explained() {
    return {
        "Whether a step moves a parameter where the step before moved it: the cosine between both "
        "changes, from -1 to 1.",
        "Above 0; with momentum or Adam often above 0.8, for most of the last step is repeated.",
        "Below 0: the parameter swings to and fro; lower the learning rate. Near 1 without momentum: "
        "steps agree and are small, so that the rate may be raised."};
  }

  Host host_;
  GeometryPlots plots_;
  Parameters parameters_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_difference", "0.1.0", "Norms and correlations of parameter updates.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::ParameterDifference);
