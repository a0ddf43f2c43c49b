#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/plugin.h>
#include <loupe/visualizers/selection.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "html/pace.h"
#include "html/run_history.h"

namespace loupe::html {

// The page around the data, assembled when Loupe is built (see embed.cmake): report.html with the styles, dygraphs and
// the scripts inlined, split at the place for the runs' data.
extern const std::string_view PAGE_BEFORE_DATA, PAGE_AFTER_DATA;

/// Writes one self-contained page that shows every run; a second begin() adds a run to compare with.
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
         {"past", "all", "how much of a resumed run's past to show, read from `record`", {"all", "values", "none"}},
         {"baseline", "", "the name of the run that others are compared with"},
         {"megabytes", 48, "a larger report drops every second epoch", 1, 2000}});
  }

  Html(const Options& options, const Host& host)
      : selection_(options, host),
        host_(host),
        path_(options),
        baseline_(options.get<std::string>("baseline")),
        budget_(options.get<std::size_t>("megabytes") * 1000 * 1000) {}

  void begin(const Run& run) override {
    is_changed_ = true;
    is_to_be_stored_ = is_last_try_ = false;
    if (!runs_.empty() && runs_.back().is_moved_to(run)) {
      file_ = path_.in(run);
      return;
    }
    // The report is in the first run's directory; later runs are added to the same file.
    if (file_.empty()) file_ = path_.in(run);
    if (!runs_.empty() && runs_.back().is_empty()) runs_.pop_back();
    runs_.emplace_back(run);
    selection_.begin();
    const bool is_resumed = (run.flags & LOUPE_RUN_RESUMED) != 0;
    start_time_ = is_resumed ? run.start_time : 0;
    has_earlier_ = is_resumed && runs_.size() == 1 && finds_earlier();
    shows_past_ = keeps_earlier_ = false;
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
    if (has_earlier_) go_on(tick.at.time > 0 && tick.at.time < start_time_);
    current().begin_tick(tick);
  }
  void row(const Row& row) override {
    if (selection_.takes(row)) current().row(row);
  }
  void histogram(const Histogram& histogram) override {
    if (selection_.takes(histogram)) current().histogram(histogram);
  }
  void finding(const loupe_finding& finding) override {
    current().story().finding(finding);
    const bool is_urgent = finding.severity == LOUPE_SEVERITY_ERROR && finding.state == LOUPE_FINDING_RAISED;
    if (is_urgent && !is_in_tick_ && pace_.is_due_early(seconds_since_write())) write_early();
  }
  void note(const Note& note) override { current().story().note(note); }
  void hyperparameter(const Hyperparameter& value) override { current().story().hyperparameter(value); }

  void end_tick() override {
    if (!selection_.is_taken()) return;
    selection_.end_tick();
    is_in_tick_ = false;
    keep_within_budget();
    const double seconds = seconds_since_write();
    if (runs_.size() == 1 ? pace_.is_due(seconds) : pace_.is_cheap(seconds)) write();
  }

  void flush() override {
    is_to_be_stored_ = true;
    if (is_changed_) write();
  }
  void end(const Ending& ending) override {
    selection_.end();
    if (has_earlier_) go_on(false);
    current().story().end(ending);
    is_last_try_ = runs_.size() == 1;
    // A report of several runs is not written after each of them: one file may have hundreds.
    if (runs_.size() == 1 || is_to_be_stored_ || pace_.is_due(seconds_since_write())) write();
  }

 private:
  using Clock = std::chrono::steady_clock;

  RunHistory& current() {
    if (runs_.empty()) throw Error("the report got values before its run began");
    is_changed_ = true;
    return runs_.back();
  }

  /// Whether an earlier process left a report that this one replaces.
  bool finds_earlier() const {
    std::error_code none;
    return std::filesystem::is_regular_file(file_, none) && std::filesystem::file_size(file_, none) > 0;
  }
  /// @param is_past whether the tick comes from before the run was resumed
  void go_on(bool is_past) {
    shows_past_ = shows_past_ || is_past;
    if (is_past) return;
    keeps_earlier_ = !shows_past_;
    has_earlier_ = false;
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

  /// Writes at once after an error, because the epoch may end hours later. If writing fails, the end of the tick tries
  /// again and reports the failure.
  void write_early() {
    try {
      write();
    } catch (const Error&) {
      return;
    }
  }

  void write() {
    if (has_earlier_) return;  // until the run has a tick, the old file may be the only copy of its past
    const auto before = Clock::now();
    try {
      Replacement file(file_);
      const std::size_t bytes = write_page(file);
      if (keeps_earlier_) {
        const std::string kept = keep_replaced(file_, start_time_).string();
        keeps_earlier_ = false;
        host_.warn("the report '" + file_.string() +
                   "' begins where the run was resumed; the earlier report is kept as '" + kept + "'");
      }
      file.commit(false);
      is_changed_ = false;
      last_write_ = Clock::now();
      pace_.wrote(bytes, std::chrono::duration<double>(last_write_ - before).count());
    } catch (const std::system_error& reason) {
      pace_.failed();
      throw cannot_write(file_, reason, is_last_try_ ? LOST : RETRIED);
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
      write("<script type=\"application/json\" id=\"report\">{\"baseline\":" + page_json(baseline_) + "}</script>\n");
    }
    for (const RunHistory& run : runs_) run.write(index++, file_.parent_path().string(), write);
    write(PAGE_AFTER_DATA);
    file.write(buffer);
    return bytes;
  }

  static constexpr const char* RETRIED = "no new report is written until this is solved";
  static constexpr const char* LOST =
      "the report is not written; solve this, then make it from the record: loupe replay RUN --visualizer html --out "
      "FOLDER";
  static constexpr std::size_t WRITTEN_AT_ONCE = std::size_t{1} << 20;

  Selection selection_;
  Host host_;
  OutputPath path_;
  std::string baseline_;
  std::size_t budget_;
  std::filesystem::path file_;
  std::list<RunHistory> runs_;
  double start_time_ = 0;       // of a resumed run: earlier ticks come from its past
  bool has_earlier_ = false;    // an earlier process left a file, and the run has had no tick of its own yet
  bool shows_past_ = false;     // the host has replayed the past from a record
  bool keeps_earlier_ = false;  // the earlier file has epochs that this report lacks
  bool is_in_tick_ = false;
  bool is_changed_ = false;       // since it was written
  bool is_to_be_stored_ = false;  // flush() was called in this run
  bool is_last_try_ = false;      // the only run has ended
  Pace pace_;
  Clock::time_point last_write_ = Clock::now();
};

}  // namespace loupe::html

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"html", LOUPE_VERSION, "A report that opens in a browser.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::html::Html);
