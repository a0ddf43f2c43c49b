#include <loupe/lenses/geometry_plots.h>
#include <loupe/lenses/watch_options.h>
#include <loupe/module_filter.h>
#include <loupe/plugin.h>

namespace loupe {

class OutputGradientGeometry : public Lens {
 public:
  static constexpr const char* name = "output_gradient_geometry";
  static constexpr const char* help = "the norm of each layer's output gradient, and how it turns from step to step";
  static std::vector<const char*> gives() {
    return {"Output Gradient Norm: the L2 norm of the gradient of each layer's output",
            "Output Gradient Correlation: the cosine between it and the one before, from -1 to 1",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "output_gradient_geometry: {log_scale: true}";
  static std::vector<Option> options() {
    std::vector<Option> options = GeometryPlots::options();
    options.emplace_back("skip_activation", true,
                         "leave out activation modules and functions that include does not name");
    options.push_back(output_option());
    for (Option& option : ModuleFilter::options()) options.push_back(std::move(option));
    return options;
  }

  OutputGradientGeometry(const Options& options, const Host& host)
      : host_(host),
        plots_(options),
        filter_(options),
        skip_activation_(options.get<bool>("skip_activation")),
        gatherer_options_(output_of(options)) {}

  void visit(const Module& module) override {
    if (!filter_.takes(module, is_leaf(module) && !(skip_activation_ && is_activation(module)))) return;
    layers_.emplace_back(module,
                         watch(module, Watch("output_gradient", gatherer_options_)
                                           .preprocessor("output_gradient_geometry", plots_.preprocessor_options())));
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void report(Report& report) override {
    plots_.introduce(report, title, norm_explained(), correlation_explained());
    filter_.warn(host_, filter_.has_taken());
    plots_.write(report, title, layers_);
  }

 private:
  static Explanation norm_explained() {
    return {
        "How large the gradient of the loss with respect to a layer's output is: the L2 norm over the "
        "whole batch.",
        "Of the same order from the last layer to the first. A loss that is a mean over the batch "
        "makes it smaller for larger batches.",
        "Smaller and smaller towards the first layers: gradients vanish; use activations such as ReLU "
        "or GELU, normalization, residual connections or another initialization. Larger and larger "
        "towards them: they explode; normalize, initialize smaller, or clip gradients."};
  }
  static Explanation correlation_explained() {
    return {
        "Whether the gradient at a layer's output points where it did in the batch before: the cosine "
        "between both, from -1 to 1.",
        "Near 0, for each batch holds other samples.",
        "Near 1 for long: every batch asks for the same change; see whether the data are shuffled, "
        "and whether a bias is far off."};
  }

  static constexpr const char* title = "Output Gradient";

  Host host_;
  GeometryPlots plots_;
  ModuleFilter filter_;
  bool skip_activation_;
  OptionValues gatherer_options_;
  Layers layers_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"output_gradient_geometry", "0.1.0",
                                     "Norms and correlations of the outputs' gradients.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::OutputGradientGeometry);
