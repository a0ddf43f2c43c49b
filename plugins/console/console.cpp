// The visualizer `console`: a table a tick for people who watch the trainer's terminal or read its log.

#include <loupe/chosen_names.h>
#include <loupe/number_text.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "console/findings.h"
#include "console/layout.h"
#include "console/progress_line.h"
#include "console/table.h"
#include "console/terminal.h"
#include "console/text.h"

namespace loupe::console {
namespace {

/// Whether a configuration names the lens whose silence means something.
bool names_health(const std::string& config) {
  const auto is_part = [&](std::size_t at) {
    return at < config.size() && (std::isalnum(static_cast<unsigned char>(config[at])) != 0 || config[at] == '_');
  };
  const std::string name = "health";
  for (std::size_t at = config.find("lenses:"); (at = config.find(name, at)) != std::string::npos; at += name.size()) {
    const std::size_t line = config.rfind('\n', at) + 1, comment = config.find('#', line);
    if (!is_part(at - 1) && !is_part(at + name.size()) && comment > at) return true;
  }
  return false;
}

class Console : public Visualizer {
 public:
  static constexpr const char* name = "console";
  static constexpr const char* help =
      "what is wrong, a table a tick, norms along the model and rates worst first, and a line of progress";
  static std::vector<const char*> gives() {
    return {"findings in words and a table for each tick, on the terminal or wherever its output goes"};
  }
  static constexpr const char* example = "console: {layers: 20, tags: [\"*Norm\", Loss]}";
  static std::vector<Option> options() {
    return {{"layers", 12, "most rows a table; 0 shows all", 0, 1e6},
            {"history", 12, "epochs in the small curve behind each row; 0 for none", 0, 1000},
            {"past",
             "values",
             "what the small curves show of a resumed run from before, out of what `record` kept",
             {"values", "none"}},
            {"tags", Strings{}, "which tags to show, as patterns such as \"*Norm\"; all of them when empty"},
            {"every", 1, "a table of the first tick and of each n-th after it; findings come at once", 1, 1e9},
            {"progress", true, "show steps, steps a second and the time left between ticks, on a terminal only"},
            {"color", "auto", "auto: on a terminal, unless NO_COLOR is set", {"auto", "always", "never"}},
            {"to", "stdout", "where to write", {"stdout", "stderr"}}};
  }
  static std::vector<const char*> aliases() { return {"print"}; }

  Console(const Options& options, const Host& host)
      : host_(host),
        layers_(options.get<std::size_t>("layers")),
        history_(options.get<std::size_t>("history")),
        tags_("tags", "tag", options.get<Strings>("tags")),
        every_(options.get<std::size_t>("every")),
        progress_(options.get<bool>("progress")),
        terminal_(options.get<std::string>("to"), options.get<std::string>("color")) {}

  void begin(const Run& run) override {
    run_ = harmless(run.name);
    directory_ = run.directory;
    const auto name_or = [](const char* name, const char* usual) {
      return name != nullptr && *name != '\0' ? name : usual;
    };
    best_ = {{name_or(run.train_loss, "train_loss"), {}}, {name_or(run.validation_loss, "val_loss"), {}}};
    earlier_.clear();
    tables_.clear();
    table_of_tag_.clear();
    findings_.clear();
    looks_for_findings_ = names_health(run.config);
    ticks_ = 0;
    start_time_ = (run.flags & LOUPE_RUN_RESUMED) != 0 ? run.start_time : 0;
    in_tick_ = ended_ = false;
  }
  void tag(const Tag& tag) override {
    const bool bounded = !std::isnan(tag.y_minimum) && !std::isnan(tag.y_maximum);
    styles_[tag.id] = {is_big(tag), is_logarithmic(tag), tag.type == LOUPE_TAG_PROBABILITY,
                       tag.type == LOUPE_TAG_RELATION, bounded};
  }
  void begin_tick(const Tick& tick) override {
    epoch_ = tick.epoch;
    is_past_ = tick.time > 0 && tick.time < start_time_;
    in_tick_ = true;
    tables_.clear();
    table_of_tag_.clear();
  }
  void value(const Value& value) override {
    if (Table* table = table_of(value.tag)) table->add(value);
  }
  void range(const Range& range) override {
    if (Table* table = table_of(range.tag)) table->add(range);
  }
  void finding(const loupe_finding& finding) override {
    findings_.take(finding);
    if (in_tick_) return;
    // An error may be the last that a run has to say, and the next tick hours away.
    const std::string text = findings_.urgent(layout());
    if (!text.empty()) write(cleared() + text, "a finding is lost");
  }
  void note(const Note& note) override {
    // A lens that was put aside finds nothing any more.
    if (note.kind == LOUPE_NOTE_QUARANTINE) looks_for_findings_ = false;
    write(cleared() + note_lines(note, layout()), "a note is lost");
  }
  void end_tick() override {
    in_tick_ = false;
    tags_.end_tick(host_, name);
    for (const Table& table : tables_) judge(table);
    if (is_past_) {
      for (const Table& table : tables_) remember(table);
      return;
    }
    shows_tables_ = ticks_++ % every_ == 0;
    tell_tick();
  }
  void progress(const Progress& progress) override {
    of_all_ = progress.epochs > 0 ? " of " + number_text(progress.epochs) : "";
    if (!progress_ || !terminal_.is_live()) return;
    // On the line below the cursor, which stays where it is: what the trainer prints does not mix with it. ESC D makes
    // that line where the screen ends.
    const std::string line = progress_line(progress, terminal_.width() - 1);
    const std::string text = cleared() +
                             "\x1b"
                             "D\x1b[A\x1b"
                             "7\r\n" +
                             line +
                             "\x1b"
                             "8";
    shows_progress_ = true;
    write(text, "the progress is not shown");
  }
  void end(const Ending& ending) override {
    in_tick_ = false;
    tags_.end(host_, name);
    // The last numbers are those that everybody wants to see.
    if (!ended_ && ticks_ > 0 && !shows_tables_) {
      shows_tables_ = true;
      for (Table& table : tables_) forget_last(table);
      tell_tick();
    }
    const std::string summary = std::exchange(ended_, true) ? "" : this->summary(ending);
    write(cleared() + summary, "the summary of the run is lost");
  }

 private:
  void tell_tick() {
    Layout layout = this->layout();
    for (Table& table : tables_) recall(table);
    const std::deque<Table> shown = merged(tables_);
    for (const Table& table : shown) layout.names = std::max(layout.names, name_width(table, layout));
    const std::string news = findings_.news(epoch_, layout);
    std::string text = heading((run_.empty() ? "" : run_ + " · ") + "epoch " + number_text(epoch_) + of_all_, layout);
    if (!news.empty()) text += news + '\n';
    for (const Table& table : shown) {
      if (shows_tables_) text += rendered(table, layout);
    }
    for (const Table& table : tables_) remember(table);
    if (!shows_tables_ && news.empty()) return;
    write(cleared() + text + (shows_tables_ ? "\n" : ""), "the table of epoch " + number_text(epoch_) + " is lost");
  }

  /// Where a loss was best so far.
  void judge(const Table& table) {
    if (!table.style().big) return;
    for (const Row& row : table.rows()) {
      const double value = row.cells[row.main()];
      for (auto& [loss, best] : best_) {
        const bool is_loss = row.key == loss;
        if (is_loss && std::isfinite(value) && (best.name.empty() || value < best.value))
          best = {row.name, value, epoch_};
      }
    }
  }
  /// "best: train_loss 0.0123 in epoch 19, val_loss 0.0456 in epoch 12", and where the files are.
  std::string results(const Layout& layout) const {
    std::string text, all;
    for (const auto& [loss, best] : best_) {
      if (best.name.empty()) continue;
      all += (all.empty() ? "best: " : ", ") + best.name + " " + short_number(best.value) + " in epoch " +
             number_text(best.epoch);
    }
    for (const std::string& line : wrapped(all, layout.width)) text += line.empty() ? "" : line + '\n';
    std::error_code none;
    if (directory_.empty() || !std::filesystem::is_directory(directory_, none)) return text;
    for (const std::string& line : wrapped("files: " + harmless(directory_), layout.width)) text += line + '\n';
    return text;
  }

  Layout layout() const { return {terminal_.width(), layers_, history_, terminal_.has_color(), 0}; }

  /// How the run ended, and what is wrong with it.
  std::string summary(const Ending& ending) const {
    const std::string text = verdict(ending);
    return ticks_ == 0 ? text : text + results(layout());
  }
  std::string verdict(const Ending& ending) const {
    if (ticks_ == 0 && findings_.count() == 0) return "";
    const Layout layout = this->layout();
    std::string text;
    if (ending.how == LOUPE_END_INTERRUPTED || ending.how == LOUPE_END_FAILED) {
      std::string title = "the run " + std::string(ending.how == LOUPE_END_FAILED ? "failed" : "was interrupted") +
                          " after epoch " + number_text(epoch_);
      if (ending.message != nullptr) title += ": " + harmless(ending.message);
      for (const std::string& line : wrapped(title, layout.width)) text += line + '\n';
    }
    if (const std::string standing = findings_.standing(epoch_, layout); !standing.empty()) {
      return text + "at the end of the run\n" + standing;
    }
    if (findings_.count() > 0) return text + "no finding stands at the end of the run\n";
    if (!looks_for_findings_ || ticks_ == 0) return text;
    return text + "no findings up to epoch " + number_text(epoch_) + '\n';
  }

  Table* table_of(const char* tag) {
    const auto [found, is_new] = table_of_tag_.try_emplace(tag, nullptr);
    if (is_new && tags_.takes(tag)) found->second = &tables_.emplace_back(tag, styles_[tag]);
    return found->second;
  }

  void recall(Table& table) {
    for (Row& row : table.rows()) {
      const auto& earlier = earlier_[table.key()][row.key];
      row.earlier.assign(earlier.begin(), earlier.end());
      row.finding = findings_.standing_of(table.key(), row.key);
    }
  }
  void forget_last(const Table& table) {
    for (const Row& row : table.rows()) {
      auto& earlier = earlier_[table.key()][row.key];
      if (!earlier.empty()) earlier.pop_back();
    }
  }
  void remember(const Table& table) {
    for (const Row& row : table.rows()) {
      auto& earlier = earlier_[table.key()][row.key];
      earlier.push_back(row.cells[row.main()]);
      if (earlier.size() > std::max<std::size_t>(history_, 1)) earlier.pop_front();
    }
  }

  std::string cleared() {
    const bool shown = shows_progress_;
    shows_progress_ = false;
    // Erases from the cursor on, but not what is under it: the last sign of a line as wide as the terminal. The blank
    // goes where the trainer's next sign will.
    return shown ? "\x1b"
                   "7 \x1b[J\x1b"
                   "8"
                 : "";
  }
  void write(const std::string& text, const std::string& lost) const {
    if (text.empty()) return;
    try {
      terminal_.write(text);
    } catch (const std::system_error& reason) {
      throw Error("cannot write to " + terminal_.name() + ": " + reason.code().message() + "; " + lost);
    }
  }

  struct Best {
    std::string name = {};
    double value = 0, epoch = 0;
  };

  Host host_;
  std::size_t layers_, history_;
  ChosenNames tags_;
  std::size_t every_;
  bool progress_;
  Terminal terminal_;
  std::string run_, of_all_, directory_;
  std::vector<std::pair<std::string, Best>> best_;  // of each loss, by its name
  std::map<std::string, Style> styles_;
  double epoch_ = 0;
  std::deque<Table> tables_;
  std::unordered_map<std::string, Table*> table_of_tag_;  // null for one that is not taken
  std::unordered_map<std::string, std::unordered_map<std::string, std::deque<double>>> earlier_;
  Findings findings_;
  std::size_t ticks_ = 0;
  double start_time_ = 0;  // of a resumed run: ticks before are of its past
  bool looks_for_findings_ = false;
  bool shows_progress_ = false, in_tick_ = false, is_past_ = false, ended_ = false;
  bool shows_tables_ = true;  // of the last tick
};

}  // namespace
}  // namespace loupe::console

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"console", "0.1.0", "Tables of the numbers in the terminal.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::console::Console);
