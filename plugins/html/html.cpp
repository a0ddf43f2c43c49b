#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/plugin.h>
#include <loupe/selection.h>

#include <chrono>
#include <filesystem>
#include <list>
#include <string>
#include <system_error>

#include "html/json_text.h"
#include "html/pace.h"
#include "html/page.h"
#include "html/run_history.h"

namespace loupe::html {

/// One self-contained page of every run told to it: a second begin() adds a run to compare with. Works on a thread of
/// its own, for a large page takes long to write.
class Html : public Visualizer {
 public:
  static constexpr const char* name = "html";
  static constexpr const char* help = "writes a report that opens offline in a browser";
  static std::vector<const char*> gives() {
    return {"report.html: plots of everything shown, in one file that opens offline"};
  }
  static constexpr const char* example = "html: {megabytes: 20}";
  static std::vector<Option> options() {
    return with_selection(
        {{"path", "report.html", "the report's file; relative to the run's directory"},
         {"past",
          "all",
          "what to show of a resumed run from before, out of what `record` kept",
          {"all", "values", "none"}},
         {"baseline", "", "of several runs, the name of the one that the others are compared with"},
         {"megabytes", 48, "a report about to grow beyond this keeps every second epoch of what it has", 1, 2000}});
  }

  Html(const Options& options, const Host& host)
      : selection_(options, host, name),
        path_(options),
        baseline_(options.get<std::string>("baseline")),
        budget_(options.get<std::size_t>("megabytes") * 1000 * 1000) {}

  void begin(const Run& run) override {
    // The first run's directory is the report's place; those that come after it are compared in the same file.
    if (file_.empty()) file_ = path_.in(run);
    if (!runs_.empty() && runs_.back().is_empty()) runs_.pop_back();
    runs_.emplace_back(run);
    selection_.begin();
    try {
      check_writable(file_);
    } catch (const std::system_error& reason) {
      throw cannot_write(file_, reason, RETRIED);
    }
  }

  void model(const Model& model) override { current().model(model); }
  void tag(const Tag& tag) override { current().tag(tag); }
  void begin_tick(const Tick& tick) override {
    if (!selection_.begin_tick()) return;
    is_in_tick_ = true;
    current().begin_tick(tick);
  }
  void value(const Value& value) override {
    if (selection_.takes(value)) current().value(value);
  }
  void range(const Range& range) override {
    if (selection_.takes(range)) current().range(range);
  }
  void histogram(const Histogram& histogram) override {
    if (selection_.takes(histogram)) current().histogram(histogram);
  }
  void finding(const loupe_finding& finding) override {
    current().story().finding(finding);
    const bool is_urgent = finding.severity == LOUPE_SEVERITY_ERROR && finding.state == LOUPE_FINDING_RAISED;
    if (is_urgent && !is_in_tick_ && pace_.is_due(seconds_since_write())) write_early();
  }
  void note(const Note& note) override { current().story().note(note); }
  void hyperparameter(const Hyperparameter& value) override { current().story().hyperparameter(value); }

  void end_tick() override {
    if (!selection_.is_taken()) return;
    selection_.end_tick();
    is_in_tick_ = false;
    keep_within_budget();
    if (pace_.is_due(seconds_since_write())) write();
  }

  void flush() override { write(); }
  void end(const Ending& ending) override {
    selection_.end();
    current().story().end(ending);
    write();
  }

 private:
  using Clock = std::chrono::steady_clock;

  RunHistory& current() {
    if (runs_.empty()) throw Error("the report was told something before its run began");
    return runs_.back();
  }

  double seconds_since_write() const { return std::chrono::duration<double>(Clock::now() - last_write_).count(); }

  void keep_within_budget() {
    for (;;) {
      std::size_t bytes = PAGE_BEFORE_DATA.size() + PAGE_AFTER_DATA.size();
      RunHistory* longest = &runs_.front();
      for (RunHistory& run : runs_) {
        bytes += run.bytes();
        if (run.bytes() > longest->bytes()) longest = &run;
      }
      if (bytes <= budget_ || longest->ticks() < 16) return;
      longest->thin();
    }
  }

  /// An error must not wait for the end of an epoch of hours. What fails is written, or told, when the tick ends.
  void write_early() {
    try {
      write();
    } catch (const Error&) {
      return;
    }
  }

  void write() {
    const auto before = Clock::now();
    try {
      Replacement file(file_);
      const std::size_t bytes = write_page(file);
      file.commit(false);
      last_write_ = Clock::now();
      pace_.wrote(bytes, std::chrono::duration<double>(last_write_ - before).count());
    } catch (const std::system_error& reason) {
      pace_.failed();
      throw cannot_write(file_, reason, RETRIED);
    }
  }

  std::size_t write_page(Replacement& file) const {
    std::size_t bytes = 0, index = 0;
    std::string buffer;
    const auto write = [&](std::string_view text) {
      buffer += text;
      bytes += text.size();
      if (buffer.size() < WRITTEN_AT_ONCE) return;
      file.write(buffer);
      buffer.clear();
    };
    write(PAGE_BEFORE_DATA);
    if (!baseline_.empty()) {
      write("<script type=\"application/json\" id=\"report\">{\"baseline\":" + json_text(baseline_) + "}</script>\n");
    }
    for (const RunHistory& run : runs_) run.write(index++, write);
    write(PAGE_AFTER_DATA);
    file.write(buffer);
    return bytes;
  }

  static constexpr const char* RETRIED = "the report is kept in memory and written as soon as the file can be";
  static constexpr std::size_t WRITTEN_AT_ONCE = std::size_t{1} << 20;

  Selection selection_;
  OutputPath path_;
  std::string baseline_;
  std::size_t budget_;
  std::filesystem::path file_;
  std::list<RunHistory> runs_;
  bool is_in_tick_ = false;
  Pace pace_;
  Clock::time_point last_write_ = Clock::now();
};

}  // namespace loupe::html

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"html", "1.0", "A report that opens in a browser.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::ThreadedVisualizer<loupe::html::Html>);
