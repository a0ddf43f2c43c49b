#include <loupe/draft/abi/step_time.h>
#include <loupe/draft/folded.h>
#include <loupe/draft/need.h>
#include <loupe/lenses/explanation.h>
#include <loupe/plugin.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loupe {

/// Shows how the time of a step is spent, and in which layers.
class StepTime : public Lens {
 public:
  static constexpr const char* name = "step_time";
  static constexpr const char* help =
      "what a step's time is spent on, and in which layers; one step in 17 is timed, in long epochs one in 101";
  static std::vector<const char*> gives() {
    return {
        "Step Time: a step's time in parts that add up: waiting for data, forward, loss and backward, optimizer, other",
        "Loupe Time: what Loupe takes of a step that is measured",
        "Layer Time: what each layer takes in a step, forward and backward, without the layers inside it",
        "Layer Time Share: each layer's share of that",
        "Layer Calls: how often a layer runs in a step, if that is not once"};
  }
  static constexpr const char* example = "step_time: {layers: false}";
  static std::vector<Option> options() {
    return {{"layers", true, "also show the layers, not only the step as a whole"},
            {"dominating_share", 0.6,
             "share of all layers' time above which one layer is reported, if there are 8 or more", 0.0, 1.0}};
  }

  StepTime(const Options& options, const Host& host)
      : shows_layers_(options.get<bool>("layers")), dominating_share_(options.get<double>("dominating_share")) {
    draft::need(host, LOUPE_DRAFT_STEP_TIME_ID);
  }

  void attach() override { watch_pushes({LOUPE_DRAFT_GATHER_STEP_TIME}, step_); }
  void visit(const Module& module) override {
    if (!shows_layers_ || !module.is_tapped() || module.is_functional() || module.is_loss()) return;
    forgotten_.clear();
    Layer& layer = layers_.emplace_back();
    layer.module = module.raw();
    places_[layer.module] = std::prev(layers_.end());
    watch(module, {LOUPE_DRAFT_GATHER_STEP_TIME}, layer.time);
  }
  void forget(const Module& module) override {
    const auto place = places_.find(module.raw());
    if (place == places_.end()) return;
    forgotten_.splice(forgotten_.end(), layers_, place->second);
    places_.erase(place);
    if (dominant_ && dominant_->module == module.raw()) dominant_.reset();
  }

  void report(Report& report) override {
    forgotten_.clear();
    tell_tags(report);
    Report::Row row(report);
    for (const auto& [label, line] : parts()) {
      if (const auto seconds = step_.mean(label)) row.value(line, 1e3 * *seconds);
    }
    row.tell(step_tag);
    if (const auto seconds = step_.mean("loupe")) report.value(loupe_tag, "Loupe", 1e3 * *seconds);
    report_layers(report);
  }

 private:
  void tell_tags(Report& report) {
    report.tag(step_tag, step_style());
    report.tag(loupe_tag, loupe_style());
    if (!shows_layers_) return;
    report.tag(layer_tag, layer_style());
    report.tag(share_tag, share_style());
  }

  static constexpr const char* step_tag = "Step Time";
  static constexpr const char* loupe_tag = "Loupe Time";
  static constexpr const char* layer_tag = "Layer Time";
  static constexpr const char* share_tag = "Layer Time Share";
  static constexpr const char* calls_tag = "Layer Calls";

  struct Layer {
    const loupe_module* module = nullptr;
    draft::Folded time;
    std::deque<double> seconds;  // of recent epochs
    uint64_t steps = 0;          // the number of timed steps
  };

  static const std::vector<std::pair<const char*, const char*>>& parts() {
    static const auto& all = *new std::vector<std::pair<const char*, const char*>>{{"waiting", "waiting for data"},
                                                                                   {"forward", "forward"},
                                                                                   {"backward", "loss and backward"},
                                                                                   {"optimizer", "optimizer step"},
                                                                                   {"other", "other"}};
    return all;
  }

  static TagStyle step_style() {
    TagStyle style = explained(
        {},
        {"What a training step takes, from the end of one to the end of the next, in parts that add up to it: "
         "waiting for data (until the next forward begins), forward, loss and backward, the optimizer's step, and "
         "other (clipping, evaluation, acting), without Loupe. Wall time, as a mean of the steps that were timed, one "
         "in 17, in long epochs one in 101, where they are measured: of the host, or of the device's queue from "
         "LibTorch 2.13 on.",
         "Forward and backward take most of it, and backward about twice as long as forward.",
         "Waiting for data: give the data loader more workers, or do once what it does for each sample. The "
         "optimizer: let it take several parameters at once, or larger batches."});
    style.type = LOUPE_SCALE_RELATION;
    style.big = true;
    style.unit = "ms";
    return style;
  }
  static TagStyle loupe_style() {
    TagStyle style = explained(
        {}, {"What Loupe takes of a measured step, in addition to what Step Time shows. It takes almost nothing of the "
             "other steps, if attach: {budget: 3%} leaves some out.",
             "Less than the step itself.", "Measure fewer steps (attach: {budget: 1%}), or with fewer lenses."});
    style.unit = "ms";
    style.y_minimum = 0;
    return style;
  }
  static TagStyle layer_style() {
    TagStyle style = explained(
        {}, {"What a layer takes in a step, all its calls together, without the layers inside it: its forward, and "
             "those nodes of the graph that its forward made, as they run backward. Wall time, of the host or of the "
             "device's queue, as a mean of the steps that were timed.",
             "Backward takes about twice as long as forward; the first layer's less, as its input needs no gradient.",
             "Begin with the layers that take most: larger kernels of fewer calls, another layout of memory "
             "(channels_last for convolutions), fewer copies."});
    style.unit = "ms";
    style.annotate = true;
    style.y_minimum = 0;
    return style;
  }
  static TagStyle share_style() {
    TagStyle style = explained({}, {"Each layer's share of what all layers take in a step, forward and backward.",
                                    "It follows the number of the layers' multiplications.",
                                    "A layer with few multiplications and a large share is worth a look."});
    style.type = LOUPE_SCALE_RELATION;
    style.big = true;
    return style;
  }
  static TagStyle calls_style() {
    return explained({}, {"How often a layer's forward runs in a step.", "As the model means it: once for most.",
                          "More often than meant: look for forwards whose results nobody uses."});
  }

  static double seconds_of(const Layer& layer) {
    return layer.time.mean("forward").value_or(0) + layer.time.mean("backward").value_or(0);
  }

  void report_layers(Report& report) {
    double all = 0;
    for (const Layer& layer : layers_) {
      const uint64_t steps = layer.time.count("forward");
      if (steps == 0) continue;
      Report::Row row(report);
      row.value("forward", 1e3 * layer.time.mean("forward").value_or(0));
      row.value("backward", 1e3 * layer.time.mean("backward").value_or(0));
      row.tell(layer_tag, layer.module->name, steps);
      const double calls = layer.time.mean("calls").value_or(1);
      if (calls != 1) {
        if (!std::exchange(told_calls_, true)) report.tag(calls_tag, calls_style());
        report.value(calls_tag, layer.module->name, "calls", calls, steps);
      }
      all += seconds_of(layer);
    }
    if (!(all > 0)) return;
    for (const Layer& layer : layers_) {
      if (layer.time.count("forward") == 0) continue;
      report.value(share_tag, layer.module->name, seconds_of(layer) / all);
    }
    judge_slowest(report);
  }

  static double median(std::deque<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  /// Judges medians over epochs, so that single slow steps do not matter.
  void judge_slowest(Report& report) {
    constexpr std::size_t fewest_layers = 8, most_epochs = 9, fewest_epochs = 3;
    constexpr uint64_t enough = 8;
    double all = 0, most = 0;
    std::size_t count = 0;
    const Layer* slowest = nullptr;
    for (Layer& layer : layers_) {
      if (layer.time.count("forward") == 0) continue;
      layer.seconds.push_back(seconds_of(layer));
      layer.steps += layer.time.count("forward");
      if (layer.seconds.size() > most_epochs) layer.seconds.pop_front();
      const double seconds = median(layer.seconds);
      all += seconds;
      ++count;
      if (slowest != nullptr && seconds <= most) continue;
      slowest = &layer;
      most = seconds;
    }
    const double share = all > 0 ? most / all : 0;
    const bool dominates = count >= fewest_layers && slowest->steps >= enough &&
                           slowest->seconds.size() >= fewest_epochs && share > dominating_share_;
    if (dominant_ && (!dominates || dominant_->module != slowest->module)) {
      dominant_->is_over = true;
      report.finding(*dominant_);
      dominant_.reset();
    }
    if (!dominates || dominant_) return;
    Finding finding;
    finding.rule = "one_layer_dominates";
    finding.severity = LOUPE_SEVERITY_INFO;
    finding.module = slowest->module;
    finding.tag = layer_tag;
    finding.value = share;
    finding.threshold = dominating_share_;
    finding.message = std::string("'") + slowest->module->name + "' takes " + rounded_text(100 * share, 2) +
                      " % of the time of all " + std::to_string(count) + " layers: " + duration_text(most) +
                      " of a step";
    finding.advice = "optimize this layer first";
    report.finding(finding);
    dominant_ = finding;
  }

  bool shows_layers_;
  double dominating_share_;
  draft::Folded step_;
  std::list<Layer> layers_;
  std::unordered_map<const loupe_module*, std::list<Layer>::iterator> places_;
  std::list<Layer> forgotten_;  // kept until the next call, because their sources end with the call that forgets them
  bool told_calls_ = false;
  std::optional<Finding> dominant_;  // the open finding, as it was last reported
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"step_time", LOUPE_VERSION, "What a step's time is spent on.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::StepTime);
