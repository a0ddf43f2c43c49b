#include "common/gradient_option.h"
#include "common/layers.h"
#include "common/non_finite.h"
#include "common/parameters.h"
#include "common/selection.h"
#include "histograms/bins.h"
#include "histograms/histogram.h"

namespace loupe {

class Histograms : public Lens {
 public:
  static constexpr const char* name = "histograms";
  static constexpr const char* help = "how activations, gradients and parameters are spread, as histograms over epochs";
  static std::vector<Option> options() {
    std::vector<Option> options = {{"activations", true, "the outputs of activation modules and functions"},
                                   {"gradients", true, "the gradients of the parameters"},
                                   gradient_option(),
                                   parameters_option({"weight"})};
    for (Option& option : Selection::options()) options.push_back(std::move(option));
    options.emplace_back("record_eval", false, "count evaluation passes too");
    options.emplace_back("evaluation_from_grad", false,
                         "a pass is an evaluation when gradients are off, rather than when the module is in eval mode");
    return options;
  }

  Histograms(const Options& options, const Host& host)
      : host_(host),
        selection_(options),
        parameters_(options),
        gradients_(options),
        activations_(options.get<bool>("activations")),
        shows_gradients_(options.get<bool>("gradients")),
        gradient_gatherer_(gradient_gatherer(options)),
        output_options_{{"record_eval", options.get<bool>("record_eval")},
                        {"evaluation_from_grad", options.get<bool>("evaluation_from_grad")}},
        edges_(ordered_edges()) {}

  void visit(const Module& module) override {
    if (selection_.takes(module, activations_ && is_activation(module))) {
      outputs_.emplace_back(module, watch(module, {"forward", nullptr, "histogram", output_options_}));
    }
    if (selection_.excludes(module)) return;
    parameters_.visit(module, [&](const char* parameter) { return watch_parameter(module, "tick", parameter); });
    if (!shows_gradients_) return;
    gradients_.visit(module,
                     [&](const char* parameter) { return watch_parameter(module, gradient_gatherer_, parameter); });
  }
  void forget(const Module& module) override {
    loupe::forget(outputs_, module);
    parameters_.forget(module);
    gradients_.forget(module);
  }

  void introduce(Report& report) override {
    if (activations_ || !outputs_.empty()) report.tag(output_tag, TagStyle());
    for (const auto& parameter : parameters_) {
      if (shows_gradients_) report.tag(gradient_tag(parameter), TagStyle());
      report.tag(parameter_tag(parameter), TagStyle());
    }
    non_finite_.introduce(report);
  }
  void report(Report& report) override {
    selection_.warn_of_unmatched(host_, name);
    write(report, output_tag, "output", outputs_);
    for (const auto& parameter : gradients_) write(report, gradient_tag(parameter), "gradient", parameter.layers);
    for (const auto& parameter : parameters_) write(report, parameter_tag(parameter), "parameter", parameter.layers);
  }

 private:
  static constexpr const char* output_tag = "Output Histogram";
  static std::string gradient_tag(const Parameters::Parameter& parameter) {
    return parameter.title + " Gradient Histogram";
  }
  static std::string parameter_tag(const Parameters::Parameter& parameter) { return parameter.title + " Histogram"; }

  Source watch_parameter(const Module& module, const char* gatherer, const char* parameter) {
    return watch(module, {gatherer, parameter, "histogram", {{"record_eval", true}}});
  }

  void write(Report& report, const std::string& tag, const char* line, const Layers& layers) {
    for (const Layer& layer : layers) {
      if (const std::vector<double> bins = layer.source.values("bins"); !bins.empty()) {
        const std::vector<double> counts = ordered_counts(bins);
        report.histogram({sizeof(loupe_histogram), 0, tag.c_str(), layer.name.c_str(), line, edges_.data(),
                          counts.data(), counts.size()});
      }
      non_finite_.write(report, tag, layer.name, layer.source, "elements");
    }
  }

  Host host_;
  Selection selection_;
  Parameters parameters_, gradients_;
  bool activations_, shows_gradients_;
  const char* gradient_gatherer_;
  OptionValues output_options_;
  std::vector<double> edges_;
  Layers outputs_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN("histograms", "0.1.0", loupe::MagnitudeHistogram, loupe::Histograms);
