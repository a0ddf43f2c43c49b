#include <loupe/lenses/geometry_lens.h>
#include <loupe/lenses/stream_options.h>

namespace loupe {

class OutputGradientGeometry : public GeometryLens {
 public:
  static constexpr const char* name = "output_gradient_geometry";
  static constexpr const char* help = "the norm of each layer's output gradient, and how it turns from step to step";
  static std::vector<const char*> gives() {
    return {"Output Gradient Norm: the L2 norm of the gradient of each layer's output",
            "Output Gradient Correlation: the cosine of the angle to the previous one, from -1 to 1",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "output_gradient_geometry: {log_scale: true}";
  static std::vector<Option> options() {
    return joined_options(
        {GeometryLens::options(),
         {{"skip_activation", true, "leave out activation modules and functions that include does not name"},
          output_option()},
         ModuleFilter::options()});
  }
  OutputGradientGeometry(const Options& options, const Host& host)
      : GeometryLens(options, host, Of::modules, "Output Gradient",
                     {"How large the gradient of the loss with respect to a layer's output is: the L2 norm over the "
                      "whole batch.",
                      "The same order from the last layer to the first. A loss that is a mean over the batch "
                      "makes it smaller for larger batches.",
                      "Smaller and smaller towards the first layers: gradients vanish; use activations such as ReLU "
                      "or GELU, normalization, residual connections or another initialization. Larger and larger "
                      "towards them: they explode; normalize, initialize smaller, or clip gradients."},
                     {"Whether the gradient at a layer's output points where it did in the batch before: the cosine "
                      "between both, from -1 to 1.",
                      "Near 0, because each batch holds other samples.",
                      "Near 1 for long: every batch asks for the same change; check whether the data are shuffled, and "
                      "whether a bias is far off."}),
        skip_activation_(options.get<bool>("skip_activation")),
        gatherer_options_(output_of(options)) {}

  void visit(const Module& module) override {
    look_at(
        module, is_leaf(module) && !(skip_activation_ && is_activation(module)),
        Watch("output_gradient", gatherer_options_).preprocessor("output_gradient_geometry", preprocessor_options()));
  }

 private:
  bool skip_activation_;
  OptionValues gatherer_options_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"output_gradient_geometry", LOUPE_VERSION,
                                     "Norms and correlations of the outputs' gradients.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::OutputGradientGeometry);
