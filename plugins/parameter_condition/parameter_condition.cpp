#include "common/non_finite.h"
#include "common/parameters.h"

namespace loupe {

class ParameterCondition : public Lens {
 public:
  static constexpr const char* name = "parameter_condition";
  static constexpr const char* help = "the condition number of each parameter that is a matrix, once an epoch";
  static std::vector<Option> options() {
    return {inplace_option(),
            parameters_option({"weight"}),
            {"log_scale", false, "show condition numbers on a logarithmic axis"},
            {"aggregation", "mean", "how an epoch becomes one number", aggregation_names()}};
  }

  explicit ParameterCondition(const Options& options)
      : parameters_(options),
        inplace_(options.get<bool>("inplace")),
        log_scale_(options.get<bool>("log_scale")),
        lines_({options.get<std::string>("aggregation")}, {}) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(
          module,
          {"tick", parameter, "parameter_condition", {{"inplace", inplace_}, {"quantiles", lines_.need_quantiles()}}});
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void introduce(Report& report) override {
    TagStyle style;
    style.log_y = log_scale_;
    for (const auto& parameter : parameters_) report.tag(parameter.title + " Condition Number", style);
    non_finite_.introduce(report);
  }
  void report(Report& report) override {
    for (const auto& parameter : parameters_) {
      const std::string tag = parameter.title + " Condition Number";
      for (const Layer& layer : parameter.layers) {
        lines_.write(report, tag, layer.name, layer.source, "condition");
        non_finite_.write(report, tag, layer.name, layer.source, "condition");
      }
    }
  }

 private:
  Parameters parameters_;
  bool inplace_, log_scale_;
  Lines lines_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN("parameter_condition", "0.1.0", loupe::ParameterCondition);
