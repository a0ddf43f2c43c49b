#include "common/activation_plots.h"
#include "common/selection.h"

namespace loupe {

class OutputActivation : public Lens {
 public:
  static constexpr const char* name = "output_activation";
  static constexpr const char* help = "how active each activation's output is, and how many of its units are dead";
  static std::vector<Option> options() {
    std::vector<Option> options = ActivationPlots::options();
    options.emplace_back("activation", true, "look at activation modules and functions");
    options.emplace_back("dropout", true, "look at dropout modules");
    for (Option& option : Selection::options()) options.push_back(std::move(option));
    options.emplace_back("record_eval", false, "count evaluation passes too");
    options.emplace_back("evaluation_from_grad", false,
                         "a pass is an evaluation when gradients are off, rather than when the module is in eval mode");
    options.emplace_back("channel_last", false, "units are counted along the last dimension, not dimension 1");
    return options;
  }

  OutputActivation(const Options& options, const Host& host)
      : host_(host),
        plots_(options, "Warning Output Activations"),
        selection_(options),
        activation_(options.get<bool>("activation")),
        dropout_(options.get<bool>("dropout")),
        preprocessor_options_{{"inplace", plots_.inplace()},
                              {"quantiles", plots_.need_quantiles()},
                              {"record_eval", options.get<bool>("record_eval")},
                              {"evaluation_from_grad", options.get<bool>("evaluation_from_grad")},
                              {"channel_last", options.get<bool>("channel_last")}} {}

  void visit(const Module& module) override {
    const bool by_default = (activation_ && is_activation(module)) || (dropout_ && is_dropout(module));
    if (!selection_.takes(module, by_default)) return;
    layers_.emplace_back(module, watch(module, {"forward", nullptr, "output_activation", preprocessor_options_}));
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void introduce(Report& report) override {
    plots_.introduce(report, tag);
    plots_.introduce_warnings(report);
  }
  void report(Report& report) override {
    selection_.warn_of_unmatched(host_, name);
    plots_.write(report, tag, layers_);
    plots_.write_warnings(report);
  }

 private:
  static constexpr const char* tag = "Output Activations";

  Host host_;
  ActivationPlots plots_;
  Selection selection_;
  bool activation_, dropout_;
  OptionValues preprocessor_options_;
  Layers layers_;
};

}  // namespace loupe

LOUPE_PLUGIN("output_activation", "0.1.0", loupe::OutputActivation);
