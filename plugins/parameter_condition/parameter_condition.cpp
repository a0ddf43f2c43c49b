#include <loupe/lenses/explanation.h>
#include <loupe/lenses/series_lens.h>
#include <loupe/plugin.h>

namespace loupe {

class ParameterCondition : public SeriesLens {
 public:
  static constexpr const char* name = "parameter_condition";
  static constexpr const char* help = "the condition number of each parameter that is a matrix, once an epoch";
  static std::vector<const char*> gives() {
    return {"Weight Condition Number: the largest singular value of each weight over its smallest",
            "Bias Condition Number: the same of biases that are matrices, if `parameters` names them",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "parameter_condition: {log_scale: true}";
  static std::vector<Option> options() {
    return joined_options({{inplace_option(),
                            {"log_scale", false, "show condition numbers on a logarithmic axis"},
                            {"aggregation", "mean", "how an epoch becomes one number", aggregation_names()}},
                           Parameters::options({"weights"})});
  }
  ParameterCondition(const Options& options, const Host& host) : SeriesLens(options, host, Of::parameters) {
    const Lines lines({options.get<std::string>("aggregation")}, {});
    preprocessor_options_ = {{"inplace", options.get<bool>("inplace")}, {"quantiles", lines.need_quantiles()}};
    TagStyle style = explained(
        TagStyle(), {"How unequally a matrix stretches directions: its largest singular value over its smallest. A "
                     "convolution's weight is flattened from its second dimension on.",
                     "Below about 1000, and level; 1 is an orthogonal matrix. Square layers are higher by nature "
                     "than oblong ones.",
                     "Growing by orders of magnitude: the layer loses directions; lower the learning rate, add "
                     "weight decay, normalize, or initialize orthogonally."});
    style.log_y = options.get<bool>("log_scale");
    add_plot({"Condition Number", LOUPE_SERIES_CONDITION, lines, style});
  }

  void visit(const Module& module) override {
    look_at_parameters(module, Watch("tick").preprocessor("parameter_condition", preprocessor_options_));
  }

 private:
  OptionValues preprocessor_options_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_condition", LOUPE_VERSION, "Condition numbers of parameters.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::ParameterCondition);
