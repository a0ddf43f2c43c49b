// The visualizer `console`: a table a tick for people who watch the trainer's terminal or read its log.

#include <fnmatch.h>
#include <loupe/number_text.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "console/layout.h"
#include "console/progress_line.h"
#include "console/table.h"
#include "console/terminal.h"
#include "console/text.h"

namespace loupe::console {
namespace {

class Console : public Visualizer {
 public:
  static constexpr const char* name = "console";
  static constexpr const char* help = "a table a tick, the worst layers first, and a line of progress between ticks";
  static std::vector<const char*> gives() {
    return {"a table for each tick, on the terminal or wherever its output goes"};
  }
  static constexpr const char* example = "console: {layers: 20, tags: [\"*Norm\", Loss]}";
  static std::vector<Option> options() {
    return {{"layers", 12, "most rows a table; 0 shows all", 0, 1e6},
            {"history", 12, "epochs in the small curve behind each row; 0 for none", 0, 1000},
            {"tags", Strings{}, "which tags to show, as patterns such as \"*Norm\"; all of them when empty"},
            {"progress", true, "show steps, steps a second and the time left between ticks, on a terminal only"},
            {"color", "auto", "auto: on a terminal, unless NO_COLOR is set", {"auto", "always", "never"}},
            {"to", "stdout", "where to write", {"stdout", "stderr"}}};
  }
  static std::vector<const char*> aliases() { return {"print"}; }

  explicit Console(const Options& options)
      : layers_(options.get<std::size_t>("layers")),
        history_(options.get<std::size_t>("history")),
        tags_(options.get<Strings>("tags")),
        progress_(options.get<bool>("progress")),
        terminal_(options.get<std::string>("to"), options.get<std::string>("color")) {}

  void begin(const Run& run) override {
    run_ = harmless(run.name);
    earlier_.clear();
    tables_.clear();
  }
  void tag(const Tag& tag) override {
    const bool bounded = !std::isnan(tag.y_minimum) && !std::isnan(tag.y_maximum);
    styles_[tag.id] = {tag.big != 0, tag.log_y != 0, tag.type == LOUPE_TAG_PROBABILITY, tag.type == LOUPE_TAG_RELATION,
                       bounded};
  }
  void begin_tick(const Tick& tick) override {
    epoch_ = tick.epoch;
    tables_.clear();
  }
  void value(const Value& value) override {
    if (Table* table = table_of(value.tag)) table->add(value);
  }
  void range(const Range& range) override {
    if (Table* table = table_of(range.tag)) table->add(range);
  }
  void end_tick() override {
    Layout layout{terminal_.width(), layers_, history_, terminal_.has_color(), 0};
    for (Table& table : tables_) {
      recall(table);
      layout.names = std::max(layout.names, name_width(table, layout));
    }
    std::string text = heading((run_.empty() ? "" : run_ + " · ") + "epoch " + number_text(epoch_) + of_all_, layout);
    for (const Table& table : tables_) {
      text += rendered(table, layout);
      remember(table);
    }
    write(cleared() + text + '\n', "the table of epoch " + number_text(epoch_) + " is lost");
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
  void end(const Ending&) override { write(cleared(), "a line of progress is left behind"); }

 private:
  Table* table_of(const char* tag) {
    for (Table& table : tables_) {
      if (table.key() == tag) return &table;
    }
    if (!is_chosen(tag)) return nullptr;
    tables_.emplace_back(tag, styles_[tag]);
    return &tables_.back();
  }
  bool is_chosen(const char* tag) const {
    return tags_.empty() || std::any_of(tags_.begin(), tags_.end(), [&](const std::string& pattern) {
             return ::fnmatch(pattern.c_str(), tag, 0) == 0;
           });
  }

  void recall(Table& table) {
    for (Row& row : table.rows()) {
      const auto& earlier = earlier_[table.key()][row.key];
      row.earlier.assign(earlier.begin(), earlier.end());
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
    return shown ? "\x1b[J" : "";
  }
  void write(const std::string& text, const std::string& lost) const {
    if (text.empty()) return;
    try {
      terminal_.write(text);
    } catch (const std::system_error& reason) {
      throw Error("cannot write to " + terminal_.name() + ": " + reason.code().message() + "; " + lost);
    }
  }

  std::size_t layers_, history_;
  Strings tags_;
  bool progress_;
  Terminal terminal_;
  std::string run_, of_all_;
  std::map<std::string, Style> styles_;
  double epoch_ = 0;
  std::deque<Table> tables_;
  std::unordered_map<std::string, std::unordered_map<std::string, std::deque<double>>> earlier_;
  bool shows_progress_ = false;
};

}  // namespace
}  // namespace loupe::console

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"console", "0.1.0", "Tables of the numbers in the terminal.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::console::Console);
