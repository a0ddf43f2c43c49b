#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/lenses/stream_options.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

#include <cmath>
#include <string>
#include <vector>

namespace loupe {

/// Counts elements by sign and magnitude over an epoch. Its series: `bins`, whose values are the counts; `edges`, whose
/// values are the ascending edges of the bins, one more than there are bins; and `elements`, the number of elements of
/// each event, or NaN or Inf if an element is.
class MagnitudeHistogram : public Preprocessor {
 public:
  static constexpr const char* name = "histogram";
  static constexpr const char* help = "the number of elements by sign and magnitude, one bin per factor of 2";
  static std::vector<const char*> gives() {
    return {"bins: the number of elements in each bin",
            "edges: the bins' ascending edges, one more than there are bins",
            "elements: how many elements each event had; NaN or Inf if one of them was"};
  }
  static constexpr const char* example = "pipeline: {gather: input_gradient, preprocess: histogram, series: elements}";
  static std::vector<Option> options() { return pass_options(); }
  explicit MagnitudeHistogram(const Options& options)
      : bins_(add_series("bins", Series::Keep::values)),
        edges_(add_series("edges", Series::Keep::values)),
        elements_(add_series("elements")) {
    request_.measures = LOUPE_MEASURE_HISTOGRAM;
    request_passes(options, request_);
  }

  Request request() const override { return request_; }

  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement();
    if ((measurement.measures & LOUPE_MEASURE_HISTOGRAM) == 0 || measurement.numel == 0) return;
    bins_.add(measurement.bins, measurement.bin_count);
    if (edges_.values().empty()) edges_.add(measurement.bin_edges, measurement.bin_count + 1);
    elements_.push(measurement.nan_count != 0   ? NAN
                   : measurement.inf_count != 0 ? INFINITY
                                                : static_cast<double>(measurement.numel));
  }

  // Counts of the same bin are added, not appended; all states have the same edges.
  std::string save_state() const override {
    StateWriter state;
    state.number(state_version);
    state.reals(bins_.values());
    state.reals(edges_.values());
    elements_.save(state);
    return state.bytes();
  }
  void merge_state(std::string_view bytes) override {
    StateReader state(bytes);
    if (state.number() != state_version) throw Error("the histogram is from another version of Loupe", LOUPE_INVALID);
    const std::vector<double> bins = state.reals(), edges = state.reals();
    const Series elements = Series::read(state);
    state.finish();
    const bool fits = bins.empty() ? edges.empty() : edges.size() == bins.size() + 1;
    const bool same = edges.empty() || edges_.values().empty() || edges == edges_.values();
    if (!fits || !same || elements.keep() != elements_.keep()) {
      throw Error("the histogram has other bins than this one; merge only counts of one version of Loupe",
                  LOUPE_INVALID);
    }
    bins_.add(bins.data(), bins.size());
    if (edges_.values().empty()) edges_.add(edges.data(), edges.size());
    elements_.merge(elements);
  }

 private:
  static constexpr uint64_t state_version = 1;
  Series& bins_;
  Series& edges_;
  Series& elements_;
  Request request_;
};

class Histograms : public Lens {
 public:
  static constexpr const char* name = "histograms";
  static constexpr const char* help = "how activations, gradients and parameters are spread, as histograms over epochs";
  static std::vector<const char*> gives() {
    return {"Output Histogram: how many elements of each activation's output have which magnitude",
            "Weight Gradient Histogram: the same of the weights' gradients; Bias Gradient Histogram if requested",
            "Weight Histogram: the same of the weights; Bias Histogram if requested",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "histograms: {gradients: false}";
  static std::vector<Option> options() {
    return joined_options(
        {{{"activations", true, "the outputs of activation modules and functions, or of those that include names"},
          {"gradients", true, "the gradients of the parameters"},
          gradient_option(),
          output_option()},
         Parameters::options({"weights"}),
         pass_options()});
  }

  Histograms(const Options& options, const Host& host)
      : host_(host),
        filter_(options),
        parameters_(options),
        gradients_(options),
        activations_(options.get<bool>("activations")),
        shows_gradients_(options.get<bool>("gradients")),
        gradient_gatherer_(gradient_gatherer(options)),
        gatherer_options_(output_of(options)) {
    add_pass_options(options, output_options_);
  }

  void visit(const Module& module) override {
    if (filter_.takes(module, activations_ && is_activation(module) && is_leaf(module))) {
      outputs_.emplace_back(
          module, watch(module, Watch("forward", gatherer_options_).preprocessor("histogram", output_options_)));
    }
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

  void report(Report& report) override {
    tell_tags(report);
    parameters_.warn(host_, !outputs_.empty());
    filter_.tell_displaced(host_);
    write(report, output_tag, "output", outputs_);
    for (const auto& role : gradients_) write(report, gradient_tag(role), "gradient", role.layers);
    for (const auto& role : parameters_) write(report, parameter_tag(role), "parameter", role.layers);
  }

 private:
  void tell_tags(Report& report) {
    if (activations_ || !outputs_.empty()) report.tag(output_tag, explained(TagStyle(), output_explained()));
    for (const auto& role : parameters_) {
      if (shows_gradients_) report.tag(gradient_tag(role), explained(TagStyle(), gradient_explained()));
      report.tag(parameter_tag(role), explained(TagStyle(), parameter_explained()));
    }
  }

  static constexpr const char* output_tag = "Output Histogram";
  static Explanation output_explained() {
    return {
        "How many elements of each output have which magnitude, summed over the epoch: a bin for each "
        "factor of 2 and each sign, zeros in the middle.",
        "One or two hills that keep their place over the epochs.",
        "A pile at 0 that grows: dead units. Hills that wander outwards: values grow; normalize or "
        "lower the learning rate. A pile at 1 and -1 behind tanh, or at 1 behind sigmoid: saturation; "
        "initialize smaller."};
  }
  static Explanation gradient_explained() {
    return {
        "How many elements of each gradient have which magnitude, summed over the epoch: a bin for "
        "each factor of 2 and each sign, zeros in the middle.",
        "One hill for each sign that moves inwards slowly as the loss settles.",
        "Most below 1e-7: gradients vanish, and half precision loses them; scale the loss. A tail of very large ones: "
        "clip gradients. A pile at 0: units that get no gradient."};
  }
  static Explanation parameter_explained() {
    return {
        "How many elements of each parameter have which magnitude, summed over the epoch: a bin for "
        "each factor of 2 and each sign, zeros in the middle.",
        "A hill for each sign that widens slowly from its start.",
        "No change at all: the parameter is not trained. Tails that grow without end: weight decay, "
        "or a smaller learning rate. A pile at 0: pruned by weight decay, or dead."};
  }
  static std::string gradient_tag(const Parameters::Role& role) { return role.title + " Gradient Histogram"; }
  static std::string parameter_tag(const Parameters::Role& role) { return role.title + " Histogram"; }

  Source watch_parameter(const Module& module, const char* gatherer, const char* parameter) {
    return watch(module, Watch(gatherer).label(parameter).preprocessor("histogram", {{"record_eval", true}}));
  }

  void write(Report& report, const std::string& tag, const char* line, const Layers& layers) {
    for (const Layer& layer : layers) {
      const auto elements = layer.source.find("elements");
      if (const std::vector<double> bins = layer.source.values("bins"); !bins.empty()) {
        const std::vector<double> edges = layer.source.values("edges");
        loupe_histogram histogram{};
        histogram.struct_size = sizeof histogram;
        histogram.tag = tag.c_str();
        histogram.layer = layer.name.c_str();
        histogram.line = line;
        histogram.edges = edges.data();
        histogram.counts = bins.data();
        histogram.bin_count = bins.size();
        if (elements) histogram.events = elements->count() + elements->nan_count() + elements->inf_count();
        report.histogram(histogram);
      }
      if (elements) non_finite_.write(report, tag, layer.name, *elements);
    }
  }

  Host host_;
  ModuleFilter filter_;
  Parameters parameters_, gradients_;
  bool activations_, shows_gradients_;
  const char* gradient_gatherer_;
  OptionValues output_options_, gatherer_options_;
  Layers outputs_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"histograms", LOUPE_VERSION,
                                     "Histograms of activations, gradients and parameters.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::MagnitudeHistogram, loupe::Histograms);
