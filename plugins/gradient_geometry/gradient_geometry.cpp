#include "common/geometry_plots.h"
#include "common/gradient_option.h"
#include "common/parameters.h"

namespace loupe {

class ParameterGradientGeometry : public Lens {
 public:
  static constexpr const char* name = "parameter_gradient_geometry";
  static constexpr const char* help = "the norm of each parameter's gradient, and how it turns from step to step";
  static std::vector<const char*> aliases() { return {"gradient_geometry"}; }
  static std::vector<Option> options() {
    std::vector<Option> options = GeometryPlots::options();
    options.push_back(parameters_option());
    options.push_back(gradient_option());
    return options;
  }

  explicit ParameterGradientGeometry(const Options& options)
      : plots_(options), parameters_(options), gatherer_(gradient_gatherer(options)) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module, {gatherer_, parameter, "gradient_geometry", plots_.preprocessor_options()});
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void introduce(Report& report) override {
    for (const auto& parameter : parameters_) plots_.introduce(report, parameter.title + " Gradient");
  }
  void report(Report& report) override {
    for (const auto& parameter : parameters_) plots_.write(report, parameter.title + " Gradient", parameter.layers);
  }

 private:
  GeometryPlots plots_;
  Parameters parameters_;
  const char* gatherer_;
};

}  // namespace loupe

LOUPE_PLUGIN("gradient_geometry", "0.1.0", loupe::ParameterGradientGeometry);
