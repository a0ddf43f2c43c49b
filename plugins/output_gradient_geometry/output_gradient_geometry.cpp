#include "common/geometry_plots.h"
#include "common/selection.h"

namespace loupe {

class OutputGradientGeometry : public Lens {
 public:
  static constexpr const char* name = "output_gradient_geometry";
  static constexpr const char* help = "the norm of each layer's output gradient, and how it turns from step to step";
  static std::vector<Option> options() {
    std::vector<Option> options = GeometryPlots::options();
    options.emplace_back("skip_activation", true, "leave out activation modules and functions");
    return options;
  }

  explicit OutputGradientGeometry(const Options& options)
      : plots_(options), skip_activation_(options.get<bool>("skip_activation")) {}

  void visit(const Module& module) override {
    if (!is_leaf(module) || (skip_activation_ && is_activation(module))) return;
    layers_.emplace_back(
        module, watch(module, {"output_gradient", nullptr, "output_gradient_geometry", plots_.preprocessor_options()}));
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void introduce(Report& report) override { plots_.introduce(report, title); }
  void report(Report& report) override { plots_.write(report, title, layers_); }

 private:
  static constexpr const char* title = "Output Gradient";

  GeometryPlots plots_;
  bool skip_activation_;
  Layers layers_;
};

}  // namespace loupe

LOUPE_PLUGIN("output_gradient_geometry", "0.1.0", loupe::OutputGradientGeometry);
