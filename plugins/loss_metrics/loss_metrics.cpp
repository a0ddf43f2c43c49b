#include <loupe/draft/abi/ranks.h>
#include <loupe/draft/lens_query.h>
#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/plugin.h>
#include <loupe/text/nearest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "loss_metrics/loss_by_step.h"

namespace loupe {

class LossMetrics : public Lens {
 public:
  static constexpr const char* name = "loss_metrics";
  static constexpr const char* help = "the training and validation loss, and the metrics that the trainer pushes";
  static std::vector<const char*> gives() {
    return {
        "Loss: the training and validation loss; called Loss & Metrics if both share a plot. Its lines called step are "
        "the loss within the epoch: at most 100 points in the first, fewer in later ones",
        "Metrics: each pushed metric, from its first value on",
        "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "loss_metrics: {loss_range: [], metrics: [accuracy]}";
  static std::vector<Option> options() {
    return {{"metrics", Strings{}, "which pushed metrics to show; all of them when empty"},
            {"evaluation_from_grad", true,
             "of a loss module: a pass is an evaluation when gradients are off, rather than when it is in eval mode"},
            {"separate_loss_and_metrics", true, "two plots rather than one"},
            {"loss_fn", true, "watch the loss modules that the trainer attached; their values replace pushed ones"},
            {"loss_fn_inplace", true, "fold a loss module's values as they come; false keeps them all"},
            line_option("loss_line"),
            range_option("loss_range", {"std"}),
            line_option("metrics_line"),
            range_option("metrics_range", {})};
  }

  LossMetrics(const Options& options, const Host& host)
      : host_(host),
        metrics_(names_of(options.get<Strings>("metrics"))),
        watches_loss_modules_(options.get<bool>("loss_fn")),
        loss_module_options_{{"inplace", options.get<bool>("loss_fn_inplace")},
                             {"quantiles", true},
                             {"evaluation_from_grad", options.get<bool>("evaluation_from_grad")},
                             {"train_loss", loss_name(host.run(), true)},
                             {"val_loss", loss_name(host.run(), false)}},
        loss_line_names_(options.get<Strings>("loss_line")),
        loss_lines_(loss_line_names_, options.get<Strings>("loss_range")),
        metrics_lines_(options.get<Strings>("metrics_line"), options.get<Strings>("metrics_range")) {
    const bool separate = options.get<bool>("separate_loss_and_metrics");
    loss_tag_ = separate ? "Loss" : "Loss & Metrics";
    metrics_tag_ = separate ? "Metrics" : "Loss & Metrics";
    loss_line_names_.erase(std::remove(loss_line_names_.begin(), loss_line_names_.end(), "none"),
                           loss_line_names_.end());
  }

  void attach() override {
    pushed_losses_ =
        watch_pushes(Watch("push").preprocessor("explicit_call", {{"select", "losses"}, {"quantiles", true}}));
    pushed_metrics_ =
        watch_pushes(Watch("push").preprocessor("explicit_call", {{"select", "metrics"}, {"quantiles", true}}));
  }
  void visit(const Module& module) override {
    if (!module.is_loss() || !watches_loss_modules_) return;
    loss_modules_.emplace_back(module,
                               watch(module, Watch("forward").preprocessor("loss_module", loss_module_options_)));
  }
  void forget(const Module& module) override {
    for (const Layer& layer : loss_modules_) {
      if (layer.id == module.id()) by_step_.forget(layer.source);
    }
    loupe::forget(loss_modules_, module);
  }

  void step(const Step& step, Report&) override {
    if (!by_step_.is_due(step.at.step)) return;
    by_step_.take(pushed_losses_);
    for (const Layer& layer : loss_modules_) by_step_.take(layer.source);
  }

  void report(Report& report) override {
    report.tag(loss_tag_, explained(style(), loss_explained()));
    if (!metrics_.empty() || metrics_seen_) introduce_metrics(report);
    numbers_.clear();
    by_step_.begin_report();
    for (const Layer& layer : loss_modules_) report_loss_module(report, layer);
    for (std::size_t i = 0; i < pushed_losses_.series_count(); ++i) {
      const SeriesNumbers loss = pushed_losses_.read(i);
      const std::string shown = loss.name();
      if (numbers_.count(shown + " mean") > 0) continue;
      report_loss(report, loss, shown);
      by_step_.write(report, pushed_losses_, i, loss_tag_, shown + " step");
    }
    by_step_.end_report();
    for (std::size_t i = 0; i < pushed_metrics_.series_count(); ++i) report_metric(report, pushed_metrics_.read(i));
    tell_misspelt();
  }

  /// Answers "train_loss median", "accuracy mean": all aggregations of the lines in the last report.
  std::optional<double> query(std::string_view key) {
    const auto found = numbers_.find(key);
    return found != numbers_.end() ? std::optional<double>(found->second) : std::nullopt;
  }
  /// Only the course within an epoch needs steps; everything else can be merged over ranks.
  const void* get_extension(const char* id) override {
    return std::string_view(id) == LOUPE_DRAFT_RANKS_ID ? this : draft::query_extension<LossMetrics>(id);
  }

 private:
  static std::set<std::string> names_of(const Strings& names) { return {names.begin(), names.end()}; }

  /// Warns about a metric that never came, if another has a similar name: metrics may come in only some epochs.
  void tell_misspelt() {
    Strings others;
    for (std::size_t i = 0; i < pushed_metrics_.series_count(); ++i) {
      const std::string metric = pushed_metrics_.read(i).name();
      metrics_come_.insert(metric);
      if (metrics_.count(metric) == 0) others.push_back(metric);
    }
    for (const std::string& metric : metrics_) {
      if (metrics_come_.count(metric) > 0) continue;
      const std::string meant = nearest(metric, others);
      if (meant.empty() || edit_distance(metric, meant) > 2 || !metrics_come_.insert(metric).second) continue;
      host_.warn("no metric '" + metric + "' was pushed so far; did you mean '" + meant + "'?");
    }
  }

  /// The name for a loss module's values: the same as for losses that the trainer pushes.
  static std::string loss_name(const loupe_run* run, bool train) {
    if (train) return run != nullptr ? run->train_loss : "train_loss";
    return run != nullptr ? run->validation_loss : "val_loss";
  }

  static Explanation loss_explained() {
    return {
        "What is minimised: the training and the validation loss as the trainer pushed them or a loss "
        "module gave them, as a mean over the epoch; a band is their spread over its steps. Step: the mean of a few "
        "steps each, at most 100 points in the first epoch and fewer in later ones.",
        "Both fall, first fast and then slowly, with validation a little above training.",
        "Training does not fall: try another learning rate, and look for faults in data and labels. "
        "It jumps or is NaN: lower the rate or clip gradients. Validation rises while training falls: "
        "overfitting; regularize, take more data, or keep the best epoch."};
  }
  static Explanation metrics_explained() {
    return {"The trainer's own metrics: each one that it pushed, as a mean over the epoch.",
            "Better from epoch to epoch, in step with the loss.",
            "If the loss gets better and a metric does not, the loss does not measure what you want: check whether "
            "classes are unequal, or whether both use the same data."};
  }
  /// If losses and metrics share a plot, it is explained as a plot of losses.
  void introduce_metrics(Report& report) const {
    report.tag(metrics_tag_, explained(style(), metrics_tag_ == loss_tag_ ? loss_explained() : metrics_explained()));
  }
  static TagStyle style() {
    TagStyle style;
    style.big = true;
    style.annotate = true;
    return style;
  }

  // A single loss module is the loss. If there are several, as in a GAN, each is also shown under its own name.
  void report_loss_module(Report& report, const Layer& layer) {
    for (std::size_t i = 0; i < layer.source.series_count(); ++i) {
      const SeriesNumbers loss = layer.source.read(i);
      const std::string shown = loss_modules_.size() > 1 ? layer.name + " " + loss.name() : loss.name();
      report_loss(report, loss, shown);
      by_step_.write(report, layer.source, i, loss_tag_, shown + " step");
    }
  }
  void report_loss(Report& report, const SeriesNumbers& loss, const std::string& shown) {
    // Ignoring NaN would give a value that looks valid but is not.
    const bool is_broken = loss.nan_count() > 0;
    remember(loss, loss.name(), is_broken);
    remember(loss, shown, is_broken);
    if (is_broken) {
      Report::Row row(report);
      for (const std::string& line : loss_line_names_) row.value(shown + " " + line, NAN);
      row.tell(loss_tag_, loss_tag_, loss.count());
    } else {
      loss_lines_.write(report, loss_tag_, loss_tag_, loss, shown + " ");
    }
    non_finite_.write(report, shown, loss_tag_, loss);
  }
  void report_metric(Report& report, const SeriesNumbers& numbers) {
    const std::string metric = numbers.name();
    const bool shown = metrics_.empty() || metrics_.count(metric) > 0;
    if (!shown || numbers.empty()) return;
    if (metrics_.empty() && !metrics_seen_) introduce_metrics(report);
    metrics_seen_ = true;
    remember(numbers, metric);
    metrics_lines_.write(report, metrics_tag_, metrics_tag_, numbers, metric + " ");
    non_finite_.write(report, metric, metrics_tag_, numbers);
  }

  // The first value under a name is kept.
  void remember(const SeriesNumbers& numbers, const std::string& shown, bool is_broken = false) {
    for (const std::string& aggregation : aggregation_names()) {
      const auto number = numbers.get(aggregation_from(aggregation));
      if (number || is_broken) numbers_.emplace(shown + " " + aggregation, is_broken ? NAN : *number);
    }
  }

  Host host_;
  std::set<std::string> metrics_;
  std::set<std::string> metrics_come_;  // metrics that have come, or whose absence was reported
  bool watches_loss_modules_;
  OptionValues loss_module_options_;
  Strings loss_line_names_;
  Lines loss_lines_, metrics_lines_;
  std::string loss_tag_, metrics_tag_;
  Source pushed_losses_, pushed_metrics_;
  Layers loss_modules_;
  bool metrics_seen_ = false;
  std::map<std::string, double, std::less<>> numbers_;
  NonFinite non_finite_;
  LossByStep by_step_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"loss_metrics", LOUPE_VERSION, "Losses and metrics.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::LossMetrics);
