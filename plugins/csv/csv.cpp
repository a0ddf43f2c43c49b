// The visualizer `csv`: one tidy table of every number, for spreadsheets and data frames.

#include <loupe/files/epoch_file.h>
#include <loupe/plugin.h>
#include <loupe/visualizers/selection.h>

#include <string>
#include <utility>
#include <vector>

#include "csv/csv_row.h"
#include "csv/findings_file.h"

namespace loupe::csv {
namespace {

class Csv : public Visualizer {
 public:
  static constexpr const char* name = "csv";
  static constexpr const char* help =
      "one tidy table: epoch, tag, layer, line, value, low, high, run, step, time; no histograms";
  static std::vector<const char*> gives() {
    return {"values.csv: a line a number, with epoch, tag, layer, line, value, low, high, run, step and time",
            "values.findings.csv: a line for each finding that is raised, changed or gone; not there without any"};
  }
  static constexpr const char* example = "csv: {path: numbers.csv}";
  static std::vector<Option> options() {
    return with_selection(
        {{"path", "values.csv", "the file; relative to the run's directory"},
         {"sync", false, "wait at each tick until the disk has it, so that it also survives a power cut"}});
  }

  Csv(const Options& options, const Host& host)
      : selection_(options, host),
        file_(OutputPath(options), options.get<bool>("sync"), &read_row, host),
        findings_(OutputPath(options), options.get<std::string>("path"), options.get<bool>("sync"), host) {}

  void begin(const Run& run) override {
    run_ = run.name;
    selection_.begin();
    findings_.begin(run);
    file_.begin(run);
  }
  void begin_tick(const Tick& tick) override {
    epoch_ = tick.at.epoch;
    moment_ = moment_fields(run_, tick);
    selection_.begin_tick();
    text_.clear();
    findings_.begin_tick(tick);
  }
  void row(const Row& row) override {
    if (!selection_.takes(row)) return;
    each_value(row, [&](const RowValue& value) { text_ += value_row(epoch_, value, moment_); });
    each_range(row, [&](const RowRange& range) { text_ += range_row(epoch_, range, moment_); });
  }
  void finding(const loupe_finding& finding) override { findings_.finding(finding); }
  void end_tick() override {
    selection_.end_tick();
    std::string text;
    text.swap(text_);
    if (selection_.is_taken()) file_.write(epoch_, std::move(text), preamble());
    findings_.end_tick();
  }
  void flush() override { findings_.flush(); }
  void end(const Ending&) override {
    selection_.end();
    file_.end(preamble());
    findings_.end();
  }

 private:
  static Preamble preamble() { return {heading, "", ""}; }

  Selection selection_;
  EpochFile file_;
  FindingsFile findings_;
  double epoch_ = 0;
  std::string run_, moment_, text_;
};

}  // namespace
}  // namespace loupe::csv

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"csv", "0.1.0", "The numbers as one table.", "the authors of Loupe", "MIT"}),
                  loupe::csv::Csv);
