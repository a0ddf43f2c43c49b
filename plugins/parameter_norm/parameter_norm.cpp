#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

namespace loupe {

class ParameterNorm : public Lens {
 public:
  static constexpr const char* name = "parameter_norm";
  static constexpr const char* help = "the norm of each parameter at the end of an epoch";
  static std::vector<const char*> gives() {
    return {"Weight Norm: the L2 norm of each weight", "Bias Norm: the L2 norm of each bias",
            "Weight Norm Comparison: each layer's share of the sum of the weights' norms",
            "Bias Norm Comparison: each layer's share of the sum of the biases' norms",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "parameter_norm: {parameters: weights, normalize_by_size: true}";
  static std::vector<Option> options() {
    std::vector<Option> options = {
        inplace_option(),
        {"normalize_by_size", false, "divide by the square root of the number of elements"},
        {"log_scale", false, "show norms on a logarithmic axis"},
        {"comparison_plot", true, "also show each layer's share of all layers' norms"},
        {"aggregation_method", "mean", "how an epoch becomes one number", aggregation_names()}};
    for (Option& option : Parameters::options()) options.push_back(std::move(option));
    return options;
  }

  ParameterNorm(const Options& options, const Host& host)
      : host_(host),
        parameters_(options),
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
                   Watch("tick").label(parameter).preprocessor(
                       "parameter_norm",
                       {{"inplace", inplace_}, {"quantiles", lines_.need_quantiles()}, {"normalize", normalize_}}));
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void report(Report& report) override {
    tell_tags(report);
    parameters_.warn(host_);
    for (const auto& role : parameters_) {
      const std::string tag = norm_tag(role);
      for (const Layer& layer : role.layers) {
        const auto norm = layer.source.find("norm");
        if (!norm) continue;
        lines_.write(report, tag, layer.name, *norm);
        non_finite_.write(report, tag, layer.name, *norm);
      }
      if (comparison_plot_) {
        Comparison::write(report, comparison_tag(role), role.layers, "norm", aggregation_);
      }
    }
  }

 private:
  void tell_tags(Report& report) {
    TagStyle style = explained(TagStyle(), words());
    style.log_y = log_scale_;
    for (const auto& role : parameters_) report.tag(norm_tag(role), style);
    if (comparison_plot_) {
      for (const auto& role : parameters_) Comparison::introduce(report, comparison_tag(role), "norm");
    }
  }

  Explanation words() const {
    return {
        "How large a parameter is at the end of an epoch: the L2 norm, the square root of the sum of "
        "its squared elements." +
            size_explained(normalize_),
        "Growing slowly from where it began, and level late in the training.",
        "Growing without end: more weight decay, or a smaller learning rate. Falling to 0: weight "
        "decay is stronger than the gradient. Not moving at all: the parameter is not trained."};
  }
  static std::string norm_tag(const Parameters::Role& role) { return role.title + " Norm"; }
  std::string comparison_tag(const Parameters::Role& role) const {
    return role.title + (log_scale_ ? " Log" : "") + " Norm Comparison";
  }

  Host host_;
  Parameters parameters_;
  bool inplace_, normalize_, log_scale_, comparison_plot_;
  std::string method_;
  Aggregate aggregation_;
  Lines lines_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_norm", "0.1.0", "Norms of parameters.", "the authors of Loupe", "MIT"}),
                  loupe::ParameterNorm);
