#include <loupe/lenses/geometry_lens.h>
#include <loupe/lenses/stream_options.h>

namespace loupe {

class ParameterGradientGeometry : public GeometryLens {
 public:
  static constexpr const char* name = "parameter_gradient_geometry";
  static constexpr const char* help = "the norm of each parameter's gradient, and how it turns from step to step";
  static std::vector<const char*> gives() {
    return {"Weight Gradient Norm: the L2 norm of each weight's gradient",
            "Weight Gradient Correlation: the cosine of the angle to the previous one, from -1 to 1",
            "Bias Gradient Norm: the L2 norm of each bias's gradient",
            "Bias Gradient Correlation: the cosine of the angle to the previous one, from -1 to 1",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "parameter_gradient_geometry: {parameters: weights, log_scale: true}";
  static std::vector<const char*> aliases() { return {"gradient_geometry"}; }
  static std::vector<Option> options() {
    return joined_options({GeometryLens::options(), Parameters::options(), {gradient_option()}});
  }
  ParameterGradientGeometry(const Options& options, const Host& host)
      : GeometryLens(options, host, Of::parameters, "Gradient",
                     {"How large a parameter's gradient is after each backward pass, before it is clipped (with "
                      "`gradient: step` "
                      "once a step, as the optimizer gets it): its L2 norm, the square root of the sum of its squared "
                      "elements. Lines and bands are over an epoch.",
                      "The same order in all layers, and falling slowly as the loss settles. The shape over "
                      "depth and time counts, not the number itself.",
                      "Smaller and smaller towards the first layers: gradients vanish; use activations such as ReLU "
                      "or GELU, normalization, residual connections or another initialization. Jumping or growing: "
                      "lower the learning rate or clip gradients. 0: dead units or weights of 0 stop the gradient. No "
                      "line: the loss "
                      "does not reach the parameter."},
                     {"Whether a parameter's gradient points where it pointed at the backward pass (with `gradient: "
                      "step` the step) "
                      "before: the cosine between both, from -1 to 1.",
                      "Slightly above 0; near 1 in the first steps only, or with very large batches.",
                      "Near 1 for long: steps agree and are small, so the learning rate may be raised. Below 0: steps "
                      "go to and fro; lower the learning rate or the momentum. About 0: mostly noise; a larger batch "
                      "or more momentum averages it out."}),
        gatherer_(gradient_gatherer(options)) {}

  void visit(const Module& module) override {
    look_at_parameters(module, Watch(gatherer_).preprocessor("gradient_geometry", preprocessor_options()));
  }

 private:
  const char* gatherer_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"gradient_geometry", LOUPE_VERSION,
                                     "Norms and correlations of the parameters' gradients.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::ParameterGradientGeometry);
