#include "common/geometry_plots.h"
#include "common/parameters.h"

namespace loupe {

class ParameterDifference : public Lens {
 public:
  static constexpr const char* name = "parameter_difference";
  static constexpr const char* help = "how far each optimizer step moves a parameter, and how that turns";
  static std::vector<const char*> aliases() { return {"parameter_update_geometry"}; }
  static std::vector<Option> options() {
    std::vector<Option> options = GeometryPlots::options();
    options.push_back(parameters_option());
    return options;
  }

  explicit ParameterDifference(const Options& options) : plots_(options), parameters_(options) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module,
                   {"optimizer_step", parameter, "parameter_difference_geometry", plots_.preprocessor_options()});
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void introduce(Report& report) override {
    for (const auto& parameter : parameters_) plots_.introduce(report, parameter.title + " Update");
  }
  void report(Report& report) override {
    for (const auto& parameter : parameters_) plots_.write(report, parameter.title + " Update", parameter.layers);
  }

 private:
  GeometryPlots plots_;
  Parameters parameters_;
};

}  // namespace loupe

LOUPE_PLUGIN("parameter_difference", "0.1.0", loupe::ParameterDifference);
