#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/lenses/watch_options.h>
#include <loupe/module_filter.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

namespace loupe {

class OutputNorm : public Lens {
 public:
  static constexpr const char* name = "output_norm";
  static constexpr const char* help = "the norm of each activation's output";
  static std::vector<const char*> gives() {
    return {"Output Norm: the L2 norm of a sample's output, as a mean over the batch",
            "Mean Output Norm Comparison: each layer's share of the sum; begins with the aggregation it is made of",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "output_norm: {normalize_by_size: true}";
  static std::vector<Option> options() {
    Strings aggregations = aggregation_names();
    aggregations.push_back("none");
    std::vector<Option> options = {
        inplace_option(),
        {"normalize_by_size", false, "divide by the square root of a sample's number of elements"},
        {"log_scale", false, "show norms on a logarithmic axis"},
        line_option(),
        range_option(),
        {"activation", true, "look at activation modules and functions by default"},
        {"comparison_plot", true, "also show each layer's share of all layers' norms"},
        {"comparison_aggregation", "none", "how an epoch becomes one number there; none is as the first line",
         aggregations}};
    for (Option& option : ModuleFilter::options()) options.push_back(std::move(option));
    options.emplace_back("record_eval", false, "count evaluation passes too");
    options.emplace_back("evaluation_from_grad", false,
                         "a pass is an evaluation when gradients are off, rather than when the module is in eval mode");
    options.push_back(output_option());
    return options;
  }

  OutputNorm(const Options& options, const Host& host)
      : host_(host),
        lines_(options.get<Strings>("line"), options.get<Strings>("range")),
        filter_(options),
        activation_(options.get<bool>("activation")),
        log_scale_(options.get<bool>("log_scale")),
        normalize_(options.get<bool>("normalize_by_size")),
        comparison_plot_(options.get<bool>("comparison_plot")),
        gatherer_options_(output_of(options)) {
    const std::string aggregation = comparison_aggregation(options);
    comparison_aggregation_ = aggregation_from(aggregation);
    comparison_tag_ = title_of(aggregation) + " Output" + (log_scale_ ? " Log" : "") + " Norm Comparison";
    const bool quantiles = lines_.need_quantiles() || (comparison_plot_ && is_quantile(comparison_aggregation_));
    preprocessor_options_ = {{"inplace", options.get<bool>("inplace")},
                             {"quantiles", quantiles},
                             {"normalize", normalize_},
                             {"record_eval", options.get<bool>("record_eval")},
                             {"evaluation_from_grad", options.get<bool>("evaluation_from_grad")}};
  }

  void visit(const Module& module) override {
    if (!filter_.takes(module, activation_ && is_activation(module) && is_leaf(module))) return;
    layers_.emplace_back(
        module, watch(module, Watch("forward", gatherer_options_).preprocessor("output_norm", preprocessor_options_)));
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void report(Report& report) override {
    tell_tags(report);
    filter_.warn(host_, filter_.has_taken());
    for (const Layer& layer : layers_) {
      const auto norm = layer.source.find("norm");
      if (!norm) continue;
      lines_.write(report, tag, layer.name, *norm);
      non_finite_.write(report, tag, layer.name, *norm);
    }
    if (comparison_plot_) Comparison::write(report, comparison_tag_, layers_, "norm", comparison_aggregation_);
  }

 private:
  void tell_tags(Report& report) {
    TagStyle style = explained(TagStyle(), words());
    style.log_y = log_scale_;
    style.annotate = true;
    report.tag(tag, style);
    if (comparison_plot_) Comparison::introduce(report, comparison_tag_, "output norm");
  }

  static constexpr const char* tag = "Output Norm";

  Explanation words() const {
    return {"How large a layer's output is: the L2 norm of one sample's output, as a mean over the batch." +
                size_explained(normalize_),
            "Of the same order in all layers, and level after the first epochs.",
            "Growing without end: lower the learning rate, add weight decay or normalize. Shrinking "
            "towards 0 with depth: initialize larger (He's for ReLU) or normalize."};
  }

  static std::string comparison_aggregation(const Options& options) {
    const auto aggregation = options.get<std::string>("comparison_aggregation");
    if (aggregation != "none") return aggregation;
    for (const std::string& line : options.get<Strings>("line")) {
      if (line != "none") return line;
    }
    return "mean";
  }

  Host host_;
  Lines lines_;
  ModuleFilter filter_;
  bool activation_, log_scale_, normalize_, comparison_plot_;
  Aggregate comparison_aggregation_;
  std::string comparison_tag_;
  OptionValues preprocessor_options_, gatherer_options_;
  Layers layers_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"output_norm", "0.1.0", "Norms of outputs.", "the authors of Loupe", "MIT"}),
                  loupe::OutputNorm);
