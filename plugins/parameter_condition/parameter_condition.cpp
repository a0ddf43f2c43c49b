#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

namespace loupe {

class ParameterCondition : public Lens {
 public:
  static constexpr const char* name = "parameter_condition";
  static constexpr const char* help = "the condition number of each parameter that is a matrix, once an epoch";
  static std::vector<const char*> gives() {
    return {"Weight Condition Number: the largest singular value of each weight over its smallest",
            "Bias Condition Number: the same of biases that are matrices, where `parameters` names them",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "parameter_condition: {log_scale: true}";
  static std::vector<Option> options() {
    std::vector<Option> options = {inplace_option(),
                                   {"log_scale", false, "show condition numbers on a logarithmic axis"},
                                   {"aggregation", "mean", "how an epoch becomes one number", aggregation_names()}};
    for (Option& option : Parameters::options({"weights"})) options.push_back(std::move(option));
    return options;
  }

  ParameterCondition(const Options& options, const Host& host)
      : host_(host),
        parameters_(options),
        inplace_(options.get<bool>("inplace")),
        log_scale_(options.get<bool>("log_scale")),
        lines_({options.get<std::string>("aggregation")}, {}) {}

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module, Watch("tick").label(parameter).preprocessor(
                               "parameter_condition", {{"inplace", inplace_}, {"quantiles", lines_.need_quantiles()}}));
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void report(Report& report) override {
    tell_tags(report);
    parameters_.warn(host_);
    for (const auto& role : parameters_) {
      const std::string tag = role.title + " Condition Number";
      for (const Layer& layer : role.layers) {
        const auto condition = layer.source.find("condition");
        if (!condition) continue;
        lines_.write(report, tag, layer.name, *condition);
        non_finite_.write(report, tag, layer.name, *condition);
      }
    }
  }

 private:
  void tell_tags(Report& report) {
    TagStyle style = explained(TagStyle(), words());
    style.log_y = log_scale_;
    for (const auto& role : parameters_) report.tag(role.title + " Condition Number", style);
  }

  static Explanation words() {
    return {
        "How unequally a matrix stretches directions: its largest singular value over its smallest. A "
        "convolution's weight is flattened from its second dimension on.",
        "Below about 1000, and level; 1 is an orthogonal matrix. Square layers are higher by nature "
        "than oblong ones.",
        "Growing by orders of magnitude: the layer loses directions; lower the learning rate, add "
        "weight decay, normalize, or initialize orthogonally."};
  }

  Host host_;
  Parameters parameters_;
  bool inplace_, log_scale_;
  Lines lines_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_condition", "0.1.0", "Condition numbers of parameters.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::ParameterCondition);
