#include <loupe/lenses/geometry_lens.h>
#include <loupe/plugin.h>

namespace loupe {

class ParameterDifference : public GeometryLens {
 public:
  static constexpr const char* name = "parameter_difference";
  static constexpr const char* help = "how far each optimizer step moves a parameter, and how that turns";
  static std::vector<const char*> gives() {
    return {"Weight Update Norm: the L2 norm of each step's change of each weight",
            "Weight Update Correlation: the cosine between it and the change before, from -1 to 1",
            "Bias Update Norm: the L2 norm of each step's change of each bias",
            "Bias Update Correlation: the cosine between it and the change before, from -1 to 1",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "parameter_difference: {parameters: weights, log_scale: true}";
  static std::vector<const char*> aliases() { return {"parameter_update_geometry"}; }
  static std::vector<Option> options() { return joined_options({GeometryLens::options(), Parameters::options()}); }
  ParameterDifference(const Options& options, const Host& host)
      : GeometryLens(options, host, Of::parameters, "Update",
                     {"How far an optimizer step moves a parameter: the L2 norm of its values after the step minus "
                      "those before it.",
                      "Falling with the learning rate, of the same order in layers of the same size, and about a "
                      "thousandth of the parameter's own norm.",
                      "0: the parameter is not trained: it has no gradient, or a rate of 0; without an optimizer it "
                      "has no line. "
                      "Growing or "
                      "jumping: lower the learning rate, warm it up, or clip gradients."},
                     {"Whether a step moves a parameter where the step before moved it: the cosine between both "
                      "changes, from -1 to 1.",
                      "Above 0; with momentum or Adam often above 0.8, because most of the last step is repeated.",
                      "Below 0: the parameter swings to and fro; lower the learning rate. Near 1 without momentum: "
                      "steps agree and are small, so the rate may be raised."}) {}

  void visit(const Module& module) override {
    look_at_parameters(module,
                       Watch("optimizer_step").preprocessor("parameter_difference_geometry", preprocessor_options()));
  }
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_difference", LOUPE_VERSION,
                                     "Norms and correlations of parameter updates.", "the authors of Loupe", "MIT"}),
                  loupe::ParameterDifference);
