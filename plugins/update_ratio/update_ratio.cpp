#include <loupe/lenses/non_finite.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

#include "update_ratio/ratio.h"

namespace loupe {

class UpdateRatio : public Lens {
 public:
  static constexpr const char* name = "update_ratio";
  static constexpr const char* help = "how large each optimizer step's update is beside the parameter that it changes";
  static std::vector<const char*> gives() {
    return {"Weight Update Ratio: the L2 norm of what a step changes of each weight, over the weight's own",
            "Bias Update Ratio: the same of each bias",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "update_ratio: {parameters: weights, line: [median, max]}";
  static std::vector<Option> options() {
    std::vector<Option> options = {inplace_option(), {"log_scale", true, "show the ratio on a logarithmic axis"}};
    Option lines = line_option();
    lines.texts = {"mean", "max"};
    options.push_back(std::move(lines));
    options.push_back(range_option("range", {}));
    for (Option& option : Parameters::options()) options.push_back(std::move(option));
    return options;
  }

  UpdateRatio(const Options& options, const Host& host)
      : host_(host),
        parameters_(options),
        lines_(options.get<Strings>("line"), options.get<Strings>("range")),
        preprocessor_options_{{"inplace", options.get<bool>("inplace")}, {"quantiles", lines_.need_quantiles()}} {
    style_.log_y = options.get<bool>("log_scale");
    style_.annotate = true;
    style_.description =
        "How far an optimizer step moves a parameter beside how large it is: |update| / |parameter|, L2 norms, the "
        "parameter as it is after the step.";
    style_.healthy = "Between 1e-4 and 1e-2, about 1e-3 for most of the training, and of the same order in all layers.";
    style_.advice =
        "Above 1e-2 the steps are too large: lower the learning rate, warm it up, or clip gradients. Below 1e-4 hardly "
        "anything is learned: raise it, or see whether the gradients of that layer vanish.";
  }

  void visit(const Module& module) override {
    parameters_.visit(module, [&](const char* parameter) {
      return watch(module,
                   Watch("optimizer_step").label(parameter).preprocessor(ChangeRatio::name, preprocessor_options_));
    });
  }
  void forget(const Module& module) override { parameters_.forget(module); }

  void report(Report& report) override {
    for (const auto& role : parameters_) report.tag(tag_of(role), style_);
    parameters_.warn(host_);
    for (const auto& role : parameters_) {
      for (const Layer& layer : role.layers) {
        const auto ratio = layer.source.find("ratio");
        if (!ratio) continue;
        lines_.write(report, tag_of(role), layer.name, *ratio);
        non_finite_.write(report, tag_of(role), layer.name, *ratio);
      }
    }
  }

 private:
  static std::string tag_of(const Parameters::Role& role) { return role.title + " Update Ratio"; }

  Host host_;
  Parameters parameters_;
  Lines lines_;
  OptionValues preprocessor_options_;
  TagStyle style_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"update_ratio", "0.1.0", "Updates of parameters beside their size.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::ChangeRatio, loupe::UpdateRatio);
