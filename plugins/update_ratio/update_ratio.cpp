#include <loupe/lenses/explanation.h>
#include <loupe/lenses/series_lens.h>
#include <loupe/plugin.h>

#include <cmath>

namespace loupe {

/// The size of the change of a tensor at each event, divided by the size of the tensor.
class ChangeRatio : public Preprocessor {
 public:
  static constexpr const char* name = "change_ratio";
  static constexpr const char* help = "the norm of what changed since the last event over the norm of the tensor";
  static std::vector<const char*> gives() {
    return {"ratio: the L2 norm of the change over that of the tensor as it is now; none for a tensor of zeros"};
  }
  static constexpr const char* example =
      "pipeline: {gather: optimizer_step, parameters: weight, preprocess: change_ratio}";
  static std::vector<Option> options() { return {inplace_option(), quantiles_option()}; }
  explicit ChangeRatio(const Options& options) : ratio_(add_series("ratio", keep_from(options))) {}

  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE;
    return request;
  }

  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement();
    const uint32_t needed = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE;
    if ((measurement.measures & needed) != needed || measurement.numel == 0) return;
    const bool comparable = last_is_finite_ && has_change(measurement);
    last_is_finite_ = measurement.nan_count == 0 && measurement.inf_count == 0;
    if (!last_is_finite_) return ratio_.push(measurement.nan_count != 0 ? NAN : INFINITY);
    if (!comparable || measurement.sum_squares <= 0) return;
    ratio_.push(std::sqrt(measurement.change_sum_squares) / std::sqrt(measurement.sum_squares));
  }

 private:
  Series& ratio_;
  bool last_is_finite_ = true;
};

class UpdateRatio : public SeriesLens {
 public:
  static constexpr const char* name = "update_ratio";
  static constexpr const char* help = "how large each optimizer step's update is beside the parameter that it changes";
  static std::vector<const char*> gives() {
    return {"Weight Update Ratio: the L2 norm of what a step changes of each weight, over the weight's own",
            "Bias Update Ratio: the same of each bias",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "update_ratio: {parameters: weights, line: [median, max]}";
  static std::vector<Option> options() {
    Option lines = line_option();
    lines.texts = {"mean", "max"};
    return joined_options({{inplace_option(),
                            {"log_scale", true, "show the ratio on a logarithmic axis"},
                            std::move(lines),
                            range_option("range", {})},
                           Parameters::options()});
  }
  UpdateRatio(const Options& options, const Host& host) : SeriesLens(options, host, Of::parameters) {
    const Lines lines(options.get<Strings>("line"), options.get<Strings>("range"));
    preprocessor_options_ = {{"inplace", options.get<bool>("inplace")}, {"quantiles", lines.need_quantiles()}};
    TagStyle style = explained(
        TagStyle(),
        {"How far an optimizer step moves a parameter beside how large it is: |update| / |parameter|, L2 norms, the "
         "parameter as it is after the step.",
         "Between 1e-4 and 1e-2, about 1e-3 for most of the training, and of the same order in all layers.",
         "Above 1e-2 the steps are too large: lower the learning rate, warm it up, or clip gradients. Below 1e-4 "
         "hardly anything is learned: raise it, or check whether the gradients of that layer vanish."});
    style.log_y = options.get<bool>("log_scale");
    style.annotate = true;
    add_plot({"Update Ratio", "ratio", lines, style});
  }

  void visit(const Module& module) override {
    look_at_parameters(module, Watch("optimizer_step").preprocessor(ChangeRatio::name, preprocessor_options_));
  }

 private:
  OptionValues preprocessor_options_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"update_ratio", LOUPE_VERSION, "Updates of parameters beside their size.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::ChangeRatio, loupe::UpdateRatio);
