// The visualizer `console`, for people who watch the trainer's terminal or read its log.

#include <loupe/detail/run_state.h>
#include <loupe/plugin.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "console/findings.h"
#include "console/headlines.h"
#include "console/panel.h"
#include "console/table.h"
#include "console/terminal.h"
#include "console/text.h"

namespace loupe::console {
namespace {

enum class Detail { lines, all, panel };

class Console : public Visualizer {
 public:
  static constexpr const char* name = "console";
  static constexpr const char* help =
      "prints findings and the state of the run: a panel on a terminal, one line for each tick elsewhere";
  static std::vector<const char*> gives() {
    return {"findings in words and the run's numbers, on the terminal or in its log"};
  }
  static constexpr const char* example = "console: {detail: all, layers: 20, tags: [\"*Norm\", Loss]}";
  static std::vector<Option> options() {
    return {{"detail",
             "auto",
             "auto: a panel on a terminal that has room for it, else lines; lines: one a tick; all: tables of all "
             "numbers at each tick",
             {"auto", "lines", "all"}},
            {"layers", 12, "most rows of a table; 0 shows all", 0, 1e6},
            {"history", 12, "epochs in the small curve of each row; 0 for none", 0, 1000},
            {"past",
             "values",
             "whether the small curves of a resumed run begin with its earlier values, read from `record`",
             {"values", "none"}},
            {"tags", Strings{}, "which tags to show, as patterns such as \"*Norm\"; all if empty"},
            {"every", 1, "print the first tick and each n-th after it; findings are printed at once", 1, 1e9},
            {"progress", true, "show steps, steps a second and the time left between ticks, on a terminal only"},
            {"color", "auto", "auto: on a terminal, unless NO_COLOR is set", {"auto", "always", "never"}},
            {"to", "stdout", "where to write", {"stdout", "stderr"}}};
  }
  static std::vector<const char*> aliases() { return {"print"}; }

  Console(const Options& options, const Host& host)
      : host_(host),
        layers_(options.get<std::size_t>("layers")),
        history_(options.get<std::size_t>("history")),
        tables_(options.get<Strings>("tags"), history_),
        every_(options.get<std::size_t>("every")),
        progress_(options.get<bool>("progress")),
        terminal_(host, options.get<std::string>("to"), options.get<std::string>("color")) {
    const auto detail = options.get<std::string>("detail");
    if (detail == "all") detail_ = Detail::all;
    // Without progress, the user wants no moving output.
    if (detail == "auto" && progress_ && terminal_.is_live() && has_room_for_panel(terminal_.size()))
      detail_ = Detail::panel;
  }

  void begin(const Run& run) override {
    run_ = harmless(run.name);
    if (run.world_size > 1) {
      run_ += run.rank == 0 ? " · " + std::to_string(run.world_size) + " ranks"
                            : " · rank " + std::to_string(run.rank) + " of " + std::to_string(run.world_size);
    }
    directory_ = run.directory;
    headlines_.begin(run.train_loss, run.validation_loss);
    broken_loss_ = {};
    broken_loss_.begin(run.train_loss, run.validation_loss);
    parts_ = {};
    tables_.clear();
    findings_.clear();
    model_layers_.clear();
    // Without the lens `health`, a run without findings need not be healthy.
    looks_for_findings_ = std::any_of(run.lenses, run.lenses + run.lens_count,
                                      [](const char* lens) { return std::string_view(lens) == "health"; });
    ticks_ = 0;
    start_time_ = (run.flags & LOUPE_RUN_RESUMED) != 0 ? run.start_time : 0;
    in_tick_ = ended_ = has_ticked_ = false;
  }
  void model(const Model& model) override { model_layers_.take(model); }
  void tag(const Tag& tag) override {
    const bool bounded = y_minimum_of(tag) && y_maximum_of(tag);
    tables_.set_style(tag.id,
                      {is_big(tag), is_logarithmic(tag), tag.type == LOUPE_SCALE_PROBABILITY,
                       tag.type == LOUPE_SCALE_RELATION, bounded, tag.unit != nullptr ? harmless(tag.unit) : ""});
  }
  void begin_tick(const Tick& tick) override {
    // A tick may cover several epochs. A record may also lack ticks; their steps are then in no later tick.
    const bool is_next = has_ticked_ && tick.steps > 0 && tick.at.step - last_step_ == tick.steps;
    since_epoch_ = is_next ? std::min(epoch_ + 1, tick.at.epoch) : tick.at.epoch;
    last_step_ = tick.at.step;
    epoch_ = tick.at.epoch;
    if (!has_ticked_) first_epoch_ = epoch_;
    has_ticked_ = true;
    is_whole_ = (tick.flags & LOUPE_TICK_INCOMPLETE) == 0;
    is_cut_short_ = !is_whole_ && tick.steps > 0;
    is_past_ = tick.at.time > 0 && tick.at.time < start_time_;
    pace_.take(tick);
    in_tick_ = true;
    tables_.begin_tick();
  }
  void row(const loupe::Row& row) override {
    if (row.step > 0) return;  // tables and headlines show only values of whole ticks
    tables_.take(row);
    each_value(row, [&](const RowValue& value) { broken_loss_.value(row.tag, value.line, value.value); });
  }
  void finding(const loupe_finding& finding) override {
    findings_.take(finding);
    broken_loss_.finding(finding.id, text_of(finding.rule), finding.severity, finding.state);
    if (in_tick_) return;
    // An error may be the last output of a run, and the next tick may be hours away.
    const std::string text = findings_.urgent(layout());
    if (!text.empty()) show(text, "a finding is lost");
  }
  void note(const Note& note) override {
    // A disabled lens reports no findings.
    if (note.kind == LOUPE_NOTE_QUARANTINE) looks_for_findings_ = false;
    // The log already contains notes of these kinds.
    for (const uint32_t kind : {LOUPE_NOTE_GUESS, LOUPE_NOTE_INCIDENT, LOUPE_NOTE_RANKS, LOUPE_NOTE_UNOBSERVED})
      if (note.kind == kind) return;
    show(note_lines(note, layout()), "a note is lost");
  }
  void end_tick() override {
    in_tick_ = false;
    tables_.end_tick(host_);
    headlines_.take(tables_.all(), epoch_, is_whole_);
    parts_.take(tables_.all());
    if (is_past_) return tables_.remember();
    is_shown_ = ticks_++ % every_ == 0;
    // The progress of an ended epoch is out of date.
    if (!progress_text_.empty() && detail_ == Detail::panel)
      progress_text_ = "epoch " + number_text(epoch_) + of_all_ + " ended";
    tell_tick();
  }
  void progress(const Progress& progress) override {
    of_all_ = progress.epochs > 0 ? " of " + number_text(progress.epochs) : "";
    if (!progress_ || !terminal_.is_live()) return;
    progress_text_ = progress_line(within_epoch(progress), terminal_.size().columns - 1);
    show("", "the progress is not shown");
  }
  void end(const Ending& ending) override {
    in_tick_ = false;
    tables_.end(host_);
    progress_text_.clear();
    // The numbers of the last tick are always shown.
    if (!ended_ && ticks_ > 0 && !is_shown_) {
      is_shown_ = true;
      tables_.forget_last();
      tell_tick();
    }
    const std::string summary = std::exchange(ended_, true) ? "" : this->summary(ending);
    write(below_.removed() + summary, "the summary of the run is lost");
    terminal_.keep_rows(false);
  }

 private:
  /// The progress within the program's epoch, if the last tick covered several: the next one will, too.
  Progress within_epoch(Progress progress) const {
    const auto covered = static_cast<std::uint64_t>(std::lround(epoch_ - since_epoch_)) + 1;
    const std::uint64_t length = progress.steps_before / covered;
    if (covered < 2 || length == 0 || progress.steps == 0) return progress;
    const std::uint64_t ended = progress.steps / length, steps = progress.steps % length;
    progress.at.epoch += static_cast<double>(ended);
    progress.seconds *= static_cast<double>(steps) / static_cast<double>(progress.steps);
    progress.steps = steps;
    progress.steps_before = length;
    return progress;
  }
  void tell_tick() {
    const Layout layout = this->layout();
    const std::string several = since_epoch_ < epoch_ ? "s " + number_text(since_epoch_) + "-" : " ";
    const std::string epoch = "epoch" + several + number_text(epoch_) + of_all_ + (is_cut_short_ ? ", cut short" : "");
    const std::string news = findings_.news(epoch_, layout, detail_ == Detail::all);
    std::string text;
    if (detail_ == Detail::all) {
      const std::string tables = tables_.text(layout, findings_);
      if (is_shown_ || !news.empty()) text = heading((run_.empty() ? "" : run_ + " · ") + epoch, layout);
      text += news + (news.empty() ? "" : "\n") + (is_shown_ ? tables + "\n" : "");
    } else if (detail_ == Detail::lines && is_shown_) {
      const std::string numbers = headlines_.in_a_line(epoch_), pace = pace_.text();
      text = epoch + (numbers.empty() ? "" : "  ") + numbers + (pace.empty() ? "" : "  ") + pace + '\n' + news;
    } else {
      text = news;
    }
    tables_.remember();
    if (!text.empty() || detail_ == Detail::panel) show(text, "the table of epoch " + number_text(epoch_) + " is lost");
  }

  /// Summarizes how the run ended, its findings, and where its files are.
  std::string summary(const Ending& ending) const {
    if (ticks_ == 0 && findings_.count() == 0) return "";
    const Layout layout = this->layout();
    const StateOfRun state = state_of_end(ending.how, text_of(ending.message), broken_loss_.name());
    std::string text =
        heading((run_.empty() ? "" : run_ + " · ") + state.word + " after epoch " + number_text(epoch_), layout);
    const auto add = [&](const std::string& sentence) {
      for (const std::string& line : wrapped(sentence, layout.width)) text += line.empty() ? "" : line + '\n';
    };
    const bool is_signal = state.why.rfind("SIG", 0) == 0 && state.why.find(' ') == std::string::npos;
    add(is_signal ? "Stopped by " + harmless(state.why) + "." : harmless(state.why));
    const std::string standing = findings_.summary(layout);
    text += standing;
    if (looks_for_findings_ && ticks_ > 0 && findings_.counts().empty() && state.word != "failed") {
      text += colored("Training looks healthy.", green, layout) + " " +
              problems_in_words(first_epoch_, epoch_, findings_.resolved()) + '\n';
    } else if (standing.empty() && findings_.count() > 0) {
      text += "No problems at the end.\n";
    }
    if (ticks_ == 0) return text;
    add(headlines_.last_losses(epoch_));
    add(parts_.in_a_line());
    std::error_code none;
    const std::filesystem::path folder = directory_, report = folder / "report.html";
    if (!directory_.empty() && std::filesystem::is_regular_file(report, none)) {
      add("report: " + harmless(report.string()));
    } else if (!directory_.empty() && std::filesystem::is_directory(folder, none)) {
      add("files: " + harmless(directory_));
    }
    return text;
  }

  Layout layout() const { return {terminal_.size().columns, layers_, history_, terminal_.has_color(), 0}; }

  /// The text below the program's output: the panel, or a line of progress.
  std::vector<std::string> lines_below(const Size& size) const {
    constexpr std::size_t fewest_rows = 8;
    if (size.rows < fewest_rows || (ticks_ == 0 && progress_text_.empty())) return {};
    if (detail_ == Detail::panel && has_room_for_panel(size)) {
      return panel_of({run_.empty() ? "Loupe" : run_, progress_text_, headlines_, findings_, looks_for_findings_,
                       model_layers_, tables_.all()},
                      size, layout());
    }
    if (progress_text_.empty()) return {};
    return {progress_text_};
  }
  /// Writes text above the panel and redraws the panel.
  void show(const std::string& text, const std::string& lost) {
    std::string all;
    const Size size = terminal_.size();
    const std::vector<std::string> below = terminal_.is_live() ? lines_below(size) : std::vector<std::string>();
    if (below.empty()) all = below_.removed();
    if (!below.empty()) terminal_.keep_rows(true);
    write(all + text + (below.empty() ? "" : below_.with(below, size)), lost);
  }
  void write(const std::string& text, const std::string& lost) {
    if (text.empty()) return;
    try {
      terminal_.write(text);
    } catch (const std::system_error& reason) {
      below_ = Region();  // it may or may not be on the screen
      const bool is_unread = reason.code() == std::errc::resource_unavailable_try_again;
      throw Error("cannot write to " + terminal_.name() + ": " +
                  (is_unread ? "nobody reads it" : reason.code().message()) + "; " + lost);
    }
  }

  Host host_;
  std::size_t layers_, history_;
  TickTables tables_;
  std::size_t every_;
  bool progress_;
  Terminal terminal_;
  Detail detail_ = Detail::lines;
  std::string run_, of_all_, directory_, progress_text_;
  Headlines headlines_;
  BrokenLoss broken_loss_;
  Parts parts_;
  Layers model_layers_;
  Findings findings_;
  Pace pace_;
  Region below_;
  double first_epoch_ = 0, since_epoch_ = 0, epoch_ = 0;  // the last tick covers the epochs since since_epoch_
  std::uint64_t last_step_ = 0;
  std::size_t ticks_ = 0;
  double start_time_ = 0;  // of a resumed run: earlier ticks come from its past
  bool looks_for_findings_ = false;
  bool in_tick_ = false, is_past_ = false, ended_ = false;
  bool has_ticked_ = false;    // also in the past of a resumed run
  bool is_shown_ = true;       // whether the last tick was shown
  bool is_whole_ = true;       // whether the tick ended an epoch
  bool is_cut_short_ = false;  // an epoch that began did not end; false for a test after the last epoch
};

}  // namespace
}  // namespace loupe::console

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"console", LOUPE_VERSION, "Tables of the numbers in the terminal.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::console::Console);
