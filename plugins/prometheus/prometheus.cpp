// The visualizer `prometheus`: writes the numbers of the last tick to a file for node_exporter's textfile collector.

#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/plugin.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <loupe/visualizers/selection.h>
#include <utf8.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loupe::prometheus {
namespace {

std::string escaped(const std::string& value) {
  std::string text;
  for (const char character : utf8::replace_invalid(value)) {
    if (character == '\n') {
      text += "\\n";
      continue;
    }
    if (character == '\\' || character == '"') text += '\\';
    text += character;
  }
  return text;
}

std::string sample_value(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return number_text(value);
}

/// A label: a valid name, and any text.
using Label = std::pair<const char*, std::string>;

/// One metric with all its samples, in Prometheus's text format. If several samples have the same labels, only the last
/// one counts, because the format allows only one.
class Metric {
 public:
  /// @param type "gauge", or "counter" for a number that only grows
  Metric(const char* name, const char* help, const char* type = "gauge") : name_(name), help_(help), type_(type) {}

  void set(std::initializer_list<Label> labels, double value) {
    std::string text;
    for (const auto& [name, label] : labels) {
      text += (text.empty() ? "" : ",") + std::string(name) + "=\"" + escaped(label) + '"';
    }
    samples_[text] = value;
  }
  void clear() { samples_.clear(); }
  /// The text; "" if there are no samples.
  std::string text() const {
    if (samples_.empty()) return "";
    std::string text = "# HELP " + name_ + ' ' + help_ + "\n# TYPE " + name_ + ' ' + type_ + '\n';
    for (const auto& [labels, value] : samples_) text += name_ + '{' + labels + "} " + sample_value(value) + '\n';
    return text;
  }

 private:
  std::string name_, help_, type_;
  std::map<std::string, double> samples_;
};

class Prometheus : public Visualizer {
 public:
  static constexpr const char* name = "prometheus";
  static constexpr const char* help =
      "the last tick's numbers and the findings in Prometheus's text format, for a textfile collector";
  static std::vector<const char*> gives() {
    return {"loupe.prom: the last tick's numbers in Prometheus's text format"};
  }
  static constexpr const char* example = "prometheus: {path: digits.prom}";
  static std::vector<Option> options() {
    return with_selection(
        {{"path", "loupe.prom",
          "the file, replaced as a whole at each tick; relative to the run's directory; a collector wants .prom"}});
  }

  Prometheus(const Options& options, const Host& host) : selection_(options, host), path_(options), host_(host) {}

  void begin(const Run& run) override {
    run_ = run.name;
    selection_.begin();
    non_finite_ = 0;
    file_ = path_.in(run);
    for (Metric* metric : all()) metric->clear();
    findings_.clear();
    counts_.clear();
    in_tick_ = shown_ = false;
    finished_.set({{"run", run_}}, 0);
    try {
      check_writable(file_);
    } catch (const std::system_error& reason) {
      host_.warn(cannot_write(file_, reason, "no numbers are shown until it can be").what());
    }
  }
  void begin_tick(const Tick& tick) override {
    in_tick_ = true;
    if (!selection_.begin_tick()) return;
    for (Metric* metric : {&epoch_, &time_, &steps_, &value_, &low_, &high_}) metric->clear();
    number_ = tick.at.epoch;
    epoch_.set({{"run", run_}}, tick.at.epoch);
    time_.set({{"run", run_}}, tick.at.time);
    steps_.set({{"run", run_}}, static_cast<double>(tick.at.step));
  }
  void row(const Row& row) override {
    if (row.step > 0) return;  // a scrape shows only values of whole ticks
    const bool is_taken = selection_.takes(row);
    const auto set = [&](Metric& metric, const std::string& line, double number) {
      metric.set({{"run", run_}, {"tag", row.tag}, {"layer", layer_of(row)}, {"line", line}}, number);
    };
    each_value(row, [&](const RowValue& value) {
      if (!std::isfinite(value.value)) ++non_finite_;
      if (is_taken) set(value_, value.line, value.value);
    });
    each_range(row, [&](const RowRange& range) {
      if (!is_taken) return;
      const std::string line = std::string(range.low_name) + ".." + range.high_name;
      set(low_, line, range.low);
      set(high_, line, range.high);
    });
  }
  void finding(const loupe_finding& finding) override {
    const std::string rule = finding.rule;
    std::uint32_t& severity = findings_[finding.id];
    std::map<std::uint32_t, std::uint64_t>& counts = counts_[rule];
    if (severity != 0) --counts[severity];
    severity = finding.state == LOUPE_FINDING_GONE ? 0 : finding.severity;
    ++counts[finding.severity];
    if (severity == 0) --counts[finding.severity];
    tell_counts(rule);
    // Write findings at once, before the next tick.
    if (!in_tick_ && finding.state != LOUPE_FINDING_CHANGED) show();
  }
  void end_tick() override {
    selection_.end_tick();
    in_tick_ = false;
    broken_.set({{"run", run_}}, static_cast<double>(non_finite_));
    if (selection_.is_taken()) show();
  }
  void end(const Ending& ending) override {
    selection_.end();
    in_tick_ = false;
    finished_.set({{"run", run_}}, 1);
    if (ending.at.time > 0) ended_.set({{"run", run_}}, ending.at.time);
    if (shown_) show();
  }

 private:
  std::array<Metric*, 10> all() {
    return {&epoch_, &time_, &steps_, &broken_, &finished_, &ended_, &standing_, &value_, &low_, &high_};
  }

  void tell_counts(const std::string& rule) {
    for (const auto& [severity, count] : counts_[rule]) {
      standing_.set({{"run", run_}, {"rule", rule}, {"severity", word_of(severity_words, severity)}},
                    static_cast<double>(count));
    }
  }

  void show() {
    std::string text;
    for (const Metric* metric : all()) text += metric->text();
    try {
      Replacement replacement(file_);
      replacement.write(text);
      replacement.commit(false);
      shown_ = true;
    } catch (const std::system_error& reason) {
      throw cannot_write(file_, reason, "the numbers of epoch " + number_text(number_) + " are not shown");
    }
  }

  Selection selection_;
  OutputPath path_;
  std::string run_;
  Host host_;
  std::filesystem::path file_;
  double number_ = 0;
  std::uint64_t non_finite_ = 0;
  bool in_tick_ = false, shown_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> findings_;  // their severities, by number; 0: it is resolved
  // The number of open findings, by rule and severity. Entries remain when they drop to 0, so that an alert can end.
  std::map<std::string, std::map<std::uint32_t, std::uint64_t>> counts_;
  Metric epoch_{"loupe_epoch", "The epoch of the last tick."};
  Metric time_{"loupe_last_tick_timestamp_seconds", "When the last tick was, in seconds since 1970."};
  Metric steps_{"loupe_steps_total", "Steps of the run's clock up to the last tick.", "counter"};
  Metric finished_{"loupe_run_finished", "1 once the run has ended, however it did."};
  Metric broken_{"loupe_nonfinite_total", "How many values that lenses reported were NaN or infinite.", "counter"};
  Metric ended_{"loupe_run_end_timestamp_seconds", "When the run ended, in seconds since 1970."};
  Metric standing_{"loupe_findings", "How many findings of a rule and severity are open."};
  Metric value_{"loupe_value", "The value that a lens reported at the last tick."};
  Metric low_{"loupe_range_low", "The lower end of a band that a lens reported at the last tick."};
  Metric high_{"loupe_range_high", "The upper end of a band that a lens reported at the last tick."};
};

}  // namespace

}  // namespace loupe::prometheus

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"prometheus", LOUPE_VERSION, "The last numbers for a monitoring system.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::prometheus::Prometheus);
