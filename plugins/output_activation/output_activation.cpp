#include <loupe/lenses/activation_plots.h>
#include <loupe/lenses/stream_options.h>
#include <loupe/module_filter.h>

namespace loupe {

class OutputActivation : public Lens {
 public:
  static constexpr const char* name = "output_activation";
  static constexpr const char* help = "how active each activation's output is, and how many of its units are dead";
  static std::vector<const char*> gives() {
    return {"Output Activations: the share of active entries, and of units that are silent in a whole batch",
            "Worst Output Activations: the lowest activation and the highest death rate of all layers",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "output_activation: {dropout: false}";
  static std::vector<Option> options() {
    return joined_options({ActivationPlots::options(),
                           {{"activation", true, "watch activation modules and functions by default"},
                            {"dropout", true, "watch dropout modules by default"}},
                           ModuleFilter::options(),
                           pass_options(),
                           {{"eps", 1e-8, "an entry is active when its magnitude is above this", 0.0},
                            output_option(),
                            {"channel_last", false, "units are counted along the last dimension, not dimension 1"}}});
  }

  OutputActivation(const Options& options, const Host& host)
      : host_(host),
        plots_(options, "Worst Output Activations"),
        filter_(options),
        activation_(options.get<bool>("activation")),
        dropout_(options.get<bool>("dropout")),
        preprocessor_options_{{"inplace", plots_.inplace()},
                              {"quantiles", plots_.need_quantiles()},
                              {"channel_last", options.get<bool>("channel_last")},
                              {"eps", options.get<double>("eps")}},
        gatherer_options_(output_of(options)) {
    add_pass_options(options, preprocessor_options_);
  }

  void visit(const Module& module) override {
    const bool by_default = (activation_ && is_activation(module)) || (dropout_ && is_dropout(module));
    if (!filter_.takes(module, by_default && is_leaf(module))) return;
    layers_.emplace_back(
        module,
        watch(module, Watch("forward", gatherer_options_).preprocessor("output_activation", preprocessor_options_)));
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void report(Report& report) override {
    plots_.introduce(report, tag, words());
    plots_.introduce_warnings(report);
    filter_.warn(host_, filter_.has_taken());
    plots_.write(report, tag, layers_);
    plots_.write_warnings(report);
  }

 private:
  static Explanation words() {
    return {
        "activation_rate is the share of an output's entries that are not 0; death_rate is the share "
        "of units that are 0 for every sample of a batch.",
        "For ReLU an activation rate between 0.2 and 0.8 and a death rate below 0.1; smooth "
        "activations are all active.",
        "Dead units learn nothing, because no gradient passes them: lower the learning rate, begin with smaller "
        "biases, or use LeakyReLU, GELU or SiLU."};
  }

  static constexpr const char* tag = "Output Activations";

  Host host_;
  ActivationPlots plots_;
  ModuleFilter filter_;
  bool activation_, dropout_;
  OptionValues preprocessor_options_, gatherer_options_;
  Layers layers_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"output_activation", LOUPE_VERSION, "Activity of outputs, and dead units.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::OutputActivation);
