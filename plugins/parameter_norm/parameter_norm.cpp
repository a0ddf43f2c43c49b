#include <loupe/lenses/explanation.h>
#include <loupe/lenses/series_lens.h>
#include <loupe/plugin.h>

namespace loupe {

class ParameterNorm : public SeriesLens {
 public:
  static constexpr const char* name = "parameter_norm";
  static constexpr const char* help = "the norm of each parameter at the end of an epoch";
  static std::vector<const char*> gives() {
    return {"Weight Norm: the L2 norm of each weight", "Bias Norm: the L2 norm of each bias",
            "Weight Norm Comparison: each layer's share of the sum of the weights' norms",
            "Bias Norm Comparison: each layer's share of the sum of the biases' norms",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "parameter_norm: {parameters: weights, normalize_by_size: true}";
  static std::vector<Option> options() {
    return joined_options({{inplace_option(),
                            {"normalize_by_size", false, "divide by the square root of the number of elements"},
                            {"log_scale", false, "show norms on a logarithmic axis"},
                            {"comparison_plot", true, "also show each layer's share of all layers' norms"},
                            {"aggregation_method", "mean", "how an epoch becomes one number", aggregation_names()}},
                           Parameters::options()});
  }
  ParameterNorm(const Options& options, const Host& host) : SeriesLens(options, host, Of::parameters) {
    const bool normalizes = options.get<bool>("normalize_by_size");
    const auto aggregation = options.get<std::string>("aggregation_method");
    const Lines lines({aggregation}, {});
    preprocessor_options_ = {
        {"inplace", options.get<bool>("inplace")}, {"quantiles", lines.need_quantiles()}, {"normalize", normalizes}};
    TagStyle style = explained(
        TagStyle(), {"How large a parameter is at the end of an epoch: the L2 norm, the square root of the sum of "
                     "its squared elements." +
                         size_explained(normalizes),
                     "It grows slowly from its start, and is level late in the training.",
                     "Growing without end: more weight decay, or a smaller learning rate. Falling to 0: weight "
                     "decay is stronger than the gradient. Not moving at all: the parameter is not trained."});
    style.log_y = options.get<bool>("log_scale");
    add_plot({"Norm", LOUPE_SERIES_NORM, lines, style});
    if (!options.get<bool>("comparison_plot")) return;
    compare({style.log_y ? "Log Norm Comparison" : "Norm Comparison", "norm", aggregation_from(aggregation)});
  }

  void visit(const Module& module) override {
    look_at_parameters(module, Watch("tick").preprocessor("parameter_norm", preprocessor_options_));
  }

 private:
  OptionValues preprocessor_options_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"parameter_norm", LOUPE_VERSION, "Norms of parameters.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::ParameterNorm);
