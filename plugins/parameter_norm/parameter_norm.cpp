#include "common/comparison.h"
#include "common/non_finite.h"
#include "common/parameters.h"

namespace loupe {

class ParameterNorm : public Lens {
 public:
  static constexpr const char* name = "parameter_norm";
  static constexpr const char* help = "the norm of each parameter at the end of an epoch";
  static std::vector<Option> options() {
    return {inplace_option(),
            parameters_option(),
            {"normalize_by_size", false, "divide by the square root of the number of elements"},
            {"log_scale", false, "show norms on a logarithmic axis"},
            {"comparison_plot", true, "also show each layer's share of all layers' norms"},
            {"aggregation_method", "mean", "how an epoch becomes one number", aggregation_names()}};
  }

  explicit ParameterNorm(const Options& options)
      : parameters_(options),
        inplace_(options.get<bool>("inplace")),
        normalize_(options.get<bool>("normalize_by_size")),
        log_scale_(options.get<bool>("log_scale")),
        comparison_plot_(options.get<bool>("comparison_plot")),
        method_(options.get<std::string>("aggregation_method")),
        aggregation_(aggregation_from(method_)),
        lines_({method_}, {}) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module,
                   {"tick",
                    parameter,
                    "parameter_norm",
                    {{"inplace", inplace_}, {"quantiles", lines_.need_quantiles()}, {"normalize", normalize_}}});
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void introduce(Report& report) override {
    TagStyle style;
    style.log_y = log_scale_;
    for (const auto& parameter : parameters_) report.tag(norm_tag(parameter), style);
    if (comparison_plot_) {
      for (const auto& parameter : parameters_) Comparison::introduce(report, comparison_tag(parameter));
    }
    non_finite_.introduce(report);
  }
  void report(Report& report) override {
    for (const auto& parameter : parameters_) {
      for (const Layer& layer : parameter.layers) {
        lines_.write(report, norm_tag(parameter), layer.name, layer.source, "norm");
        non_finite_.write(report, norm_tag(parameter), layer.name, layer.source, "norm");
      }
      if (comparison_plot_) {
        Comparison::write(report, comparison_tag(parameter), parameter.layers, "norm", aggregation_);
      }
    }
  }

 private:
  static std::string norm_tag(const Parameters::Parameter& parameter) { return parameter.title + " Norm"; }
  std::string comparison_tag(const Parameters::Parameter& parameter) const {
    return parameter.title + (log_scale_ ? " Log" : "") + " Norm Comparison";
  }

  Parameters parameters_;
  bool inplace_, normalize_, log_scale_, comparison_plot_;
  std::string method_;
  uint32_t aggregation_;
  Lines lines_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN("parameter_norm", "0.1.0", loupe::ParameterNorm);
