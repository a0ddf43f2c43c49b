#include <loupe/lenses/explanation.h>
#include <loupe/lenses/series_lens.h>
#include <loupe/lenses/stream_options.h>

namespace loupe {

class OutputNorm : public SeriesLens {
 public:
  static constexpr const char* name = "output_norm";
  static constexpr const char* help = "the norm of each activation's output";
  static std::vector<const char*> gives() {
    return {"Output Norm: the L2 norm of a sample's output, as a mean over the batch",
            "Mean Output Norm Comparison: each layer's share of the sum; begins with the aggregation it is made of",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "output_norm: {normalize_by_size: true}";
  static std::vector<Option> options() {
    Strings aggregations = aggregation_names();
    aggregations.push_back("none");
    return joined_options({{inplace_option(),
                            {"normalize_by_size", false, "divide by the square root of a sample's number of elements"},
                            {"log_scale", false, "show norms on a logarithmic axis"},
                            line_option(),
                            range_option(),
                            {"activation", true, "watch activation modules and functions by default"},
                            {"comparison_plot", true, "also show each layer's share of all layers' norms"},
                            {"comparison_aggregation", "none",
                             "how an epoch becomes one number there; none is as the first line", aggregations},
                            {"channel_last", false, "makes no difference: a sample's norm has no channels"}},
                           ModuleFilter::options(),
                           pass_options(),
                           {output_option()}});
  }
  OutputNorm(const Options& options, const Host& host)
      : SeriesLens(options, host, Of::modules),
        activation_(options.get<bool>("activation")),
        gatherer_options_(output_of(options)) {
    const bool normalizes = options.get<bool>("normalize_by_size"), compares = options.get<bool>("comparison_plot");
    const std::string compared = comparison_aggregation(options);
    const Lines lines(options.get<Strings>("line"), options.get<Strings>("range"));
    const bool quantiles = lines.need_quantiles() || (compares && is_quantile(aggregation_from(compared)));
    preprocessor_options_ = {
        {"inplace", options.get<bool>("inplace")}, {"quantiles", quantiles}, {"normalize", normalizes}};
    add_pass_options(options, preprocessor_options_);
    TagStyle style = explained(
        TagStyle(), {"How large a layer's output is: the L2 norm of one sample's output, as a mean over the batch." +
                         size_explained(normalizes),
                     "The same order in all layers, and level after the first epochs.",
                     "Growing without end: lower the learning rate, add weight decay or normalize. Shrinking "
                     "towards 0 with depth: initialize larger (He's for ReLU) or normalize."});
    style.log_y = options.get<bool>("log_scale");
    style.annotate = true;
    add_plot({"Output Norm", LOUPE_SERIES_NORM, lines, style});
    if (!compares) return;
    compare({title_of(compared) + " Output" + (style.log_y ? " Log" : "") + " Norm Comparison", "output norm",
             aggregation_from(compared)});
  }

  void visit(const Module& module) override {
    look_at(module, activation_ && is_activation(module) && is_leaf(module),
            Watch("forward", gatherer_options_).preprocessor("output_norm", preprocessor_options_));
  }

 private:
  static std::string comparison_aggregation(const Options& options) {
    const auto aggregation = options.get<std::string>("comparison_aggregation");
    if (aggregation != "none") return aggregation;
    for (const std::string& line : options.get<Strings>("line")) {
      if (line != "none") return line;
    }
    return "mean";
  }

  bool activation_;
  OptionValues preprocessor_options_, gatherer_options_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"output_norm", LOUPE_VERSION, "Norms of outputs.", "the authors of Loupe", "MIT"}),
                  loupe::OutputNorm);
