#include "command/commands.h"

#include <loupe/error.h>
#include <loupe/files/compression.h>
#include <loupe/options.h>
#include <loupe/text/number_text.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "command/records.h"
#include "command/tool.h"
#include "command/usage_error.h"
#include "config/launch.h"
#include "core/run_folder.h"
#include "core/text.h"
#include "record/file_stamp.h"
#include "record/reader/record_reader.h"
#include "record/run_player.h"
#include "record/run_summary.h"
#include "view/run_state.h"

namespace loupe {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// While this lives, a first Ctrl-C or SIGTERM is noted and a second one ends the process. One at a time.
class Interruption {
 public:
  Interruption() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, &before_interrupt_);
    ::sigaction(SIGTERM, &action, &before_termination_);
  }
  ~Interruption() {
    ::sigaction(SIGINT, &before_interrupt_, nullptr);
    ::sigaction(SIGTERM, &before_termination_, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool was_requested() const { return interrupted != 0; }

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_termination_ {};
};

/// Files that other processes append to.
class GrowingFiles {
 public:
  explicit GrowingFiles(std::vector<std::string> files) : files_(std::move(files)) {}

  /// Everything written from now on is a change.
  void look() { seen_ = stamps(); }
  /// Waits until a file has changed since look(), and at least `pause`. False when interrupted.
  bool wait(const Interruption& interruption, std::chrono::nanoseconds pause) const {
    using Clock = std::chrono::steady_clock;
    const auto earliest = Clock::now() + pause;
    constexpr timespec glance{0, 200'000'000};
    while (!interruption.was_requested()) {
      if (Clock::now() >= earliest && stamps() != seen_) return true;
      ::nanosleep(&glance, nullptr);
    }
    return false;
  }

 private:
  std::vector<FileStamp> stamps() const {
    std::vector<FileStamp> stamps;
    for (const std::string& file : files_) {
      // A record may be named by a link, which does not grow.
      struct stat status {};
      stamps.push_back(::stat(text_file_at(file).c_str(), &status) == 0 ? FileStamp::of(status) : FileStamp());
    }
    return stamps;
  }

  std::vector<std::string> files_;
  std::vector<FileStamp> seen_;
};

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::size_t last_parts(const fs::path& path, std::size_t count, std::string& text) {
  const std::vector<fs::path> parts(path.begin(), path.end());
  fs::path last;
  for (std::size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) last /= parts[i];
  text = last.string();
  return parts.size();
}

/// The shortest ends of the paths that are all different; the whole paths if some are equal.
Names distinct_ends(const std::vector<fs::path>& paths) {
  Names ends(paths.size());
  for (std::size_t count = 1;; ++count) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      longest = std::max(longest, last_parts(paths[i], count, ends[i]));
    }
    Names sorted = ends;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() || count >= longest) return ends;
  }
}

/// Records usually have the same name, and their folders distinguish them.
std::vector<fs::path> telling_paths(const Names& files) {
  std::vector<fs::path> paths;
  bool same_file_name = true;
  for (const std::string& file : files) {
    paths.push_back(fs::absolute(file).lexically_normal());
    same_file_name = same_file_name && paths.back().filename() == paths.front().filename();
  }
  if (same_file_name) {
    for (fs::path& path : paths) {
      path = path.parent_path();
      if (path.filename() == merged_folder_name) path = path.parent_path();
    }
  }
  return paths;
}

/// The words of a name, each with the mark that ends it.
Names words_of(const std::string& name) {
  Names words(1);
  for (const char letter : name) {
    words.back() += letter;
    if (letter == ' ' || letter == '-' || letter == '_' || letter == '/') words.emplace_back();
  }
  return words;
}

/// The name of each run. Where names are equal, the part that distinguishes the paths of their records follows; if all
/// names are equal, there is only that part.
std::vector<std::string> distinct_names(const Names& names, const Names& files) {
  const bool all_equal = std::set<std::string>(names.begin(), names.end()).size() == 1;
  Names distinct = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::size_t> equal;
    Names paths;
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (names[j] != names[i]) continue;
      equal.push_back(j);
      paths.push_back(files[j]);
    }
    if (equal.size() < 2 || equal.front() != i) continue;
    const Names ends = distinct_ends(telling_paths(paths));
    for (std::size_t j = 0; j < equal.size(); ++j) {
      std::string& own = distinct[equal[j]];
      own = all_equal ? ends[j] : own + " (" + ends[j] + ")";
    }
  }
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    // This happens if a record is given twice, or if a name looks like another name with its folder.
    const std::string name = distinct[i];
    const auto earlier = distinct.begin() + static_cast<std::ptrdiff_t>(i);
    for (int count = 2; std::find(distinct.begin(), earlier, distinct[i]) != earlier; ++count) {
      distinct[i] = name + " " + std::to_string(count);
    }
  }
  return distinct;
}

/// The names without the words that all begin or end with: "0.1" and "0.01" of "digits-0.1" and "digits-0.01". Words
/// stand between blanks, '-', '_' and '/'. Names that are distinct stay so, and none becomes empty.
std::vector<std::string> shortened_names(const Names& names) {
  if (names.size() < 2) return names;
  std::vector<Names> words;
  std::size_t fewest = words_of(names.front()).size();
  for (const std::string& name : names) {
    words.push_back(words_of(name));
    fewest = std::min(fewest, words.back().size());
  }
  const auto all_have = [&](const auto& word_in) {
    return std::all_of(words.begin(), words.end(),
                       [&](const Names& each) { return word_in(each) == word_in(words.front()); });
  };
  std::size_t first = 0, last = 0;  // words to remove
  while (first + 1 < fewest && all_have([&](const Names& each) { return each[first]; })) ++first;
  while (first + last + 1 < fewest && all_have([&](const Names& each) { return each[each.size() - 1 - last]; })) ++last;
  Names shortened;
  for (const Names& each : words) {
    std::string name;
    for (std::size_t i = first; i + last < each.size(); ++i) name += each[i];
    if (last > 0) name.pop_back();  // the mark before a removed word
    shortened.push_back(name);
  }
  const std::set<std::string> different(shortened.begin(), shortened.end());
  return different.size() < names.size() || different.count("") != 0 ? names : shortened;
}

/// A field, in quotes if needed. A spreadsheet takes texts that begin with some characters for formulas, and anybody
/// may have chosen the names in a record.
std::string field(const std::string& name) {
  const bool is_formula = !name.empty() && std::string_view("=+-@\t\r").find(name[0]) != std::string_view::npos;
  const std::string text = (is_formula ? "'" : "") + name;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char each : text) quoted += each == '"' ? std::string("\"\"") : std::string(1, each);
  return quoted + '"';
}

void write_record(const std::string& record, const std::string& name, std::ostream& out, std::ostream& errors) {
  replay::RecordReader reader(record);
  // The step comes with the line that ends an epoch.
  std::vector<std::pair<std::string, std::string>> rows;
  for (replay::RecordLine line; reader.next(line);) {
    if (line.kind == replay::RecordLine::Kind::run) rows.clear();
    if (line.kind == replay::RecordLine::Kind::value)
      rows.emplace_back(field(name) + ',' + field(line.tag) + ',' + field(line.layer) + ',' + field(line.line) + ',' +
                            number_text(line.epoch) + ',' + (line.step != 0 ? std::to_string(line.step) : ""),
                        ',' + number_text(line.value) + '\n');
    if (line.kind != replay::RecordLine::Kind::tick) continue;
    for (const auto& [before, after] : rows) {
      out << before;
      if (before.back() == ',') out << line.step;
      out << after;
    }
    rows.clear();
  }
  const char* cut_off = reader.cut_off() != nullptr ? reader.cut_off() : rows.empty() ? nullptr : "an epoch";
  if (cut_off != nullptr)
    errors << "loupe: warning: '" << record << "' ends with " << cut_off << " that was cut off, which is left out\n";
}

/// Writes the values of all records as one table of comma-separated values, for whole epochs: run, tag, layer, line,
/// epoch, step and value, like Python's loupe.read_all(). Data left out at a record's end goes to `errors`.
/// Throws RecordError for a wrong record.
void write_value_table(const std::vector<std::string>& records, const std::vector<std::string>& names,
                       std::ostream& out, std::ostream& errors) {
  out << "run,tag,layer,line,epoch,step,value\n";
  for (std::size_t i = 0; i < records.size(); ++i) write_record(records[i], names[i], out, errors);
}

using replay::RunSummary;
using Results = std::vector<RunSummary>;

constexpr std::size_t most_settings = 24;  // more columns are unreadable
constexpr std::size_t most_named = 3;      // equally good runs that are named

struct Column {
  std::string title;
  Names cells;
  bool is_number = false;

  std::size_t width() const {
    std::size_t widest = columns_of(title);
    for (const std::string& cell : cells) widest = std::max(widest, columns_of(cell));
    return widest;
  }
};

/// A setting, and its value in each run; none if the run does not record it.
struct Setting {
  std::string name;
  std::vector<std::optional<std::string>> values;
};

std::string rounded(double value) {
  constexpr int digits = 4;
  const char* name = non_finite_name(value);
  return name != nullptr ? name : rounded_text(value, digits);
}

std::string in_quotes(const std::string& name) {
  return "'" + name + "'";
}

/// "'a', 'b' and 'c'"; of many names only the first, and the number of the others.
std::string in_words(const Names& names) {
  Names words;
  for (const std::string& name : names) words.push_back(in_quotes(name));
  if (words.size() > most_named + 1) {
    words.resize(most_named);
    words.push_back(std::to_string(names.size() - most_named) + " more");
  }
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 < words.size() ? ", " : " and ") + words[i];
  return list;
}

/// The names of losses. Validation losses, by which runs are judged, come first.
Names loss_names(const Results& results) {
  Names names;
  std::set<std::string> seen;
  for (const RunSummary& result : results) {
    for (const RunSummary::Loss& loss : result.losses()) {
      if (!loss.is_metric && seen.insert(loss.name).second) names.push_back(loss.name);
    }
  }
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.find("val") != std::string::npos; });
  return names;
}

/// The runs that reach the lowest value of a loss; empty if fewer than two runs have that loss.
std::set<std::size_t> best_runs(const std::string& loss, const Results& results) {
  std::set<std::size_t> best;
  double lowest = 0;
  std::size_t having = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunSummary::Loss* own = results[i].loss(loss);
    if (own == nullptr) continue;
    ++having;
    if (!own->lowest) continue;
    if (best.empty() || own->lowest->first < lowest) best.clear();
    if (best.empty()) lowest = own->lowest->first;
    if (own->lowest->first == lowest) best.insert(i);
  }
  return having < 2 ? std::set<std::size_t>() : best;
}

/// The runs, best first by the first comparable loss; runs without it come last. Equal runs keep their order.
std::vector<std::size_t> best_first(const Results& results) {
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Names losses = loss_names(results);
  const auto judged = std::find_if(losses.begin(), losses.end(),
                                   [&](const std::string& loss) { return !best_runs(loss, results).empty(); });
  if (judged == losses.end()) return order;
  const auto best = [&](std::size_t run) {
    const RunSummary::Loss* own = results[run].loss(*judged);
    return own == nullptr || !own->lowest ? std::numeric_limits<double>::infinity() : own->lowest->first;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return best(a) < best(b); });
  return order;
}

void tell_best(const std::string& loss, const Names& names, const Results& results, std::ostream& out) {
  const std::string shown = printable_line(loss);
  Names having, best;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].loss(loss) != nullptr) having.push_back(names[i]);
  }
  const std::set<std::size_t> runs = best_runs(loss, results);
  for (const std::size_t run : runs) best.push_back(names[run]);
  if (having.size() == 1) {
    out << "only " << in_quotes(having.front()) << " has the loss " << shown << ", so it is not compared\n";
  } else if (best.empty()) {
    const bool is_one_of_several = std::any_of(results.begin(), results.end(), [&](const RunSummary& each) {
      return each.loss(loss) != nullptr && each.loss(loss)->is_one_of_several;
    });
    out << shown
        << (is_one_of_several ? " is one of several trained losses, so its lowest value is not its best\n"
                              : " was finite in no run\n");
  } else {
    const auto [lowest, epoch] = *results[*runs.begin()].loss(loss)->lowest;
    out << "best " << shown << ": " << in_words(best) << " with " << rounded(lowest);
    if (best.size() == 1) out << " in epoch " << number_text(epoch);
    if (having.size() < names.size()) out << ", of the " << having.size() << " runs that have it";
    out << "\n";
  }
}

void tell_best(const Names& names, const Results& results, std::ostream& out) {
  const Names losses = loss_names(results);
  if (names.size() < 2) return;
  for (const std::string& loss : losses) tell_best(loss, names, results, out);
  if (losses.empty()) out << "no run has a loss, so no run is the best\n";
}

std::vector<Setting> settings_of(const Results& results) {
  std::vector<Setting> settings;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const auto& own : results[i].settings()) {
      const auto [place, is_new] = places.try_emplace(own.first, settings.size());
      if (is_new) settings.push_back({own.first, {}});
      Setting& known = settings[place->second];
      known.values.resize(results.size());
      known.values[i] = own.second;
    }
  }
  return settings;
}

bool is_same_in_all(const Setting& setting) {
  return std::all_of(setting.values.begin(), setting.values.end(),
                     [&](const auto& value) { return value == setting.values.front(); });
}

/// Whether a setting concerns how the run was watched, not how it was trained.
bool is_of_watching(const std::string& setting) {
  return setting.rfind("lenses.", 0) == 0 || setting.rfind("visualizers.", 0) == 0;
}

void add_loss(const std::string& loss, const Results& results, std::vector<Column>& columns) {
  Column value{printable_line(loss), {}, true}, epoch{"in epoch", {}, true}, last{"last", {}, true};
  const std::set<std::size_t> best = best_runs(loss, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunSummary::Loss* own = results[i].loss(loss);
    const bool has_best = own != nullptr && own->lowest;
    value.cells.push_back(has_best ? (best.count(i) != 0 ? "* " : "") + rounded(own->lowest->first) : "-");
    epoch.cells.push_back(has_best ? number_text(own->lowest->second) : "-");
    last.cells.push_back(own != nullptr ? rounded(own->last) : "-");
  }
  for (Column* each : {&value, &epoch, &last}) columns.push_back(std::move(*each));
}

std::string in_a_row(const Column& column, const std::string& text, std::size_t width) {
  const std::string shown = shortened_end(text, width);
  const std::string padding(width - columns_of(shown), ' ');
  return column.is_number ? padding + shown : shown + padding;
}

/// Columns `first` to before `end`, beside the names of the runs.
void write_rows(const std::vector<Column>& columns, std::size_t first, std::size_t end, std::size_t room,
                std::ostream& out) {
  for (std::size_t row = 0; row <= columns.front().cells.size(); ++row) {
    std::string line;
    for (std::size_t i = 0; i < end; i = i == 0 ? first : i + 1) {
      const std::string& text = row == 0 ? columns[i].title : columns[i].cells[row - 1];
      line += (i == 0 ? "" : "  ") + in_a_row(columns[i], text, std::min(columns[i].width(), room));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

void write_table(const std::vector<Column>& columns, std::optional<std::size_t> most, std::ostream& out) {
  constexpr std::size_t gap = 2;
  const std::size_t names = columns.front().width();
  const std::size_t room = most && *most > names + 2 * gap ? *most - names - gap : std::string::npos;
  for (std::size_t first = 1, end = 1; first < columns.size(); first = end) {
    std::size_t taken = 0;
    for (; end < columns.size(); ++end) {
      taken += gap + std::min(columns[end].width(), room);
      if (most && end > first && names + taken > *most) break;
    }
    if (first > 1 || columns.front().cells.size() > 1) out << "\n";
    write_rows(columns, first, end, room, out);
  }
}

/// Prints which run is best in each loss, and the differences: sentences, a table with one row per run, best first, and
/// the equal settings. A table that is wider than `columns` continues below.
/// @param names, states  of the runs, one for each result
void tell_comparison(const std::vector<std::string>& names, const std::vector<RunSummary>& results,
                     std::vector<std::string> states, std::optional<std::size_t> columns, std::ostream& out) {
  Names shown;
  for (const std::string& name : names) shown.push_back(printable_line(name));
  tell_best(shown, results, out);
  std::vector<Column> table = {{"run", shown}};
  for (const std::string& loss : loss_names(results)) add_loss(loss, results, table);
  std::string same;
  std::size_t differing = 0;
  for (const Setting& setting : settings_of(results)) {
    const std::string title = printable_line(setting.name);
    if (is_same_in_all(setting)) {
      if (!is_of_watching(title))
        same += (same.empty() ? "" : ", ") + title + " " + printable_line(setting.values.front().value_or(""));
      continue;
    }
    if (++differing > most_settings) continue;
    Column& column = table.emplace_back(Column{title, {}});
    for (const auto& value : setting.values) column.cells.push_back(value ? printable_line(*value) : "-");
  }
  Column state{"state", std::move(states)}, findings{"findings", {}};
  for (const RunSummary& result : results) findings.cells.push_back(printable_line(worst_finding_of(result)));
  table.push_back(std::move(state));
  table.push_back(std::move(findings));
  const std::vector<std::size_t> order = best_first(results);
  for (Column& column : table) {
    Names sorted;
    for (const std::size_t run : order) sorted.push_back(std::move(column.cells[run]));
    column.cells = std::move(sorted);
  }
  write_table(table, columns, out);
  out << "\n";
  if (differing > most_settings) out << differing - most_settings << " more settings differ\n";
  if (names.size() > 1 && !same.empty())
    out << shortened_end("identical in all runs: " + same, columns.value_or(std::string::npos)) << "\n";
}

/// Removes a file at the end.
struct OwnFile {
  fs::path path;
  ~OwnFile() {
    std::error_code none;
    fs::remove(path, none);
  }
};

std::string folder_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name.empty() || name[0] == '.' ? "run" + name : name;
}

void check_names(const Names& names, std::size_t records) {
  if (names.size() != records) {
    throw UsageError("--names gives " + std::to_string(names.size()) + " names for " + std::to_string(records) +
                     " records; give one for each");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      throw UsageError("--names gives the name '" + names[i] + "' twice; runs of one name cannot be told apart");
    }
  }
}

/// The text as --option takes it, whatever it holds.
std::string option_text(const std::string& name, const std::string& value) {
  YAML::Emitter quoted;
  quoted << YAML::DoubleQuoted << value;
  return name + "=" + quoted.c_str();
}

/// Whether the visualizer shows all runs in one file, and how they differ.
bool shows_together(const ComponentConfig& visualizer) {
  return declares(visualizer.entry, "baseline");
}

/// Throws UsageError for visualizers that write files, because no folder was named for them.
void need_folder(const std::vector<ComponentConfig>& chosen) {
  for (const ComponentConfig& each : chosen) {
    if (!declares(each.entry, "path")) continue;
    throw UsageError("the visualizer '" + std::string(each.entry.component->name) +
                     "' writes files and needs a folder for them: --out FOLDER");
  }
}

/// The name under which the baseline is shown. The user may also give its full name.
std::string shown_baseline(const std::string& baseline, const Names& in_full, const Names& shown) {
  for (const Names* names : {&shown, &in_full}) {
    const auto found = std::find(names->begin(), names->end(), baseline);
    if (found != names->end()) return shown[static_cast<std::size_t>(found - names->begin())];
  }
  std::string all;
  for (const std::string& name : shown) all += (all.empty() ? "'" : ", '") + name + "'";
  throw UsageError("--baseline names no run '" + baseline + "'; the runs are " + all);
}

}  // namespace

CLI::App* Compare::add_to(CLI::App& app) {
  CLI::App* subcommand =
      app.add_subcommand("compare", "Compare runs: print which is best and what differs, and show them in one report");
  subcommand
      ->add_option("records", records, "Records, folders of runs, or folders of those, in the order of the report")
      ->required()
      ->type_name("FILE");
  visualizers.out.clear();  // without --out no file is written
  subcommand->add_option("--visualizer", visualizers.names, "Where to show them (default: html); repeatable")
      ->allow_extra_args(false)
      ->type_name("VISUALIZER");
  subcommand->add_option("--names", names, "Names for the runs, comma-separated (default: what differs in their names)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  subcommand->add_option("--baseline", baseline, "Name of the run that the report compares the others with")
      ->type_name("NAME");
  subcommand->add_flag("--follow", follow,
                       "Rewrite the report whenever a record has grown, until all runs have ended or Ctrl-C");
  visualizers.add_to(*subcommand);
  subcommand->get_option("--out")->description("Folder of the report; without it, no file is written");
  CLI::Option* table = subcommand->add_flag("--csv", csv,
                                            "Print the values of all runs as one table instead, like Python's "
                                            "loupe.read_all(): run, tag, layer, line, epoch, "
                                            "step, value");
  for (CLI::Option* each : subcommand->get_options([](const CLI::Option* each) { return each->nonpositional(); })) {
    if (each != table && each != subcommand->get_help_ptr() && each->get_name() != "--names") table->excludes(each);
  }
  const auto others = subcommand->get_options([](const CLI::Option* each) { return each->nonpositional(); });
  CLI::Option* ports =
      subcommand->add_flag("--port", port,
                           "Print where a port first departs from its original (exit code 1 if it does); the records "
                           "are written by the lens 'fingerprint' or by loupe_record.py");
  for (CLI::Option* each : others) {
    if (each != subcommand->get_help_ptr()) ports->excludes(each);  // `port` shows no visualizer and writes no file
  }
  subcommand->add_option("--map", map, "With --port, a YAML file that lists which modules are the same")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->needs(ports);
  return subcommand;
}

std::string Compare::folder_of(std::size_t run, const Names& shown) const {
  const fs::path out = visualizers.out.empty() ? "." : visualizers.out;
  return (run == 0 ? out : out / folder_name(shown[run])).string();
}

Compare::Played Compare::play(const std::vector<ComponentConfig>& chosen, Readers& readers, const Names& shown) const {
  replay::VisualizerGroup group(chosen);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (shows_together(chosen[i])) group.store_together(i);
  ReadingProgress progress(readers.size(), all_write_files(chosen));
  Played played;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    RunSummary& result = played.results.emplace_back(readers[i].run());
    progress.begin(readers[i].file());
    group.set_more_follow(i + 1 < readers.size());
    replay::RunPlayer player(readers[i], group);
    player.set_on_line([&](const replay::RecordLine& line) {
      result.take(line, readers[i].text());
      progress.take(line);
    });
    const fs::path folder = fs::path(readers[i].file()).parent_path();
    const std::string left_out = player.play(shown[i], folder_of(i, shown), view::flags_by_lock(folder));
    played.states.push_back(view::words_of(view::standing_of(result, folder).state));
    if (!left_out.empty()) played.left_out += "loupe: warning: " + left_out + "\n";
  }
  return played;
}

Compare::Played Compare::play_until_ended(const Catalogue& catalogue, const VisualizerArguments& arguments,
                                          const ComponentConfig& html, const Names& files, const Names& shown) const {
  if (arguments.names != Names{"html"}) {
    throw UsageError("--follow rewrites its files, which works only for a report; leave out " +
                     std::string("--follow, or every --visualizer but html"));
  }
  const fs::path report = fs::path(folder_of(0, shown)) / Options(html.options->get()).get<std::string>("path");
  // A report is written after each run; readers must see all runs or the earlier report.
  const fs::path unfinished = report.parent_path() / ("." + report.filename().string() + ".unfinished");
  VisualizerArguments own = arguments;
  own.options.push_back(option_text("html.path", fs::absolute(unfinished).string()));
  const auto chosen = choose_visualizers(own, catalogue);

  const OwnFile removed{unfinished};
  const Interruption interruption;
  GrowingFiles records(files);
  for (;;) {
    const auto begun = std::chrono::steady_clock::now();
    records.look();
    Readers readers(files.begin(), files.end());
    Played played = play(chosen, readers, shown);
    std::error_code error;
    fs::rename(unfinished, report, error);
    if (error) {
      throw Error("cannot write the report '" + report.string() + "': " + error.message() +
                  "; choose another folder with --out");
    }
    const bool all_ended = std::all_of(played.results.begin(), played.results.end(),
                                       [](const auto& each) { return each.ending().has_value(); });
    // Playing a long record takes long: leave most of the time to the trainers.
    if (all_ended || !records.wait(interruption, 4 * (std::chrono::steady_clock::now() - begun))) return played;
  }
}

int Compare::run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const {
  if (port) {
    if (records.size() != 2)
      throw UsageError("--port compares two records, and got " + std::to_string(records.size()) +
                       "; name the original's and the port's");
    std::vector<std::string> given = {"--", records[0], records[1]};
    if (!map.empty()) given.insert(given.begin(), {"--map", map});
    std::vector<char*> arguments;
    for (std::string& each : given) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    run_tool("port", arguments.data());
  }
  const Names files = record_files(records);
  if (!names.empty()) check_names(names, files.size());
  if (csv) {
    Names recorded;
    for (const std::string& record : files) recorded.push_back(replay::RecordReader(record).run().name);
    write_value_table(files, names.empty() ? distinct_names(recorded, files) : names, out, errors);
    return 0;
  }
  VisualizerArguments arguments = visualizers;
  if (arguments.names.empty()) arguments.names = {"html"};
  const bool shows = !visualizers.out.empty() || !visualizers.names.empty() || !visualizers.options.empty() ||
                     !baseline.empty() || follow;
  auto chosen = shows ? choose_visualizers(arguments, catalogue) : std::vector<ComponentConfig>();
  if (visualizers.out.empty()) need_folder(chosen);
  Readers readers;
  Names recorded;
  for (const std::string& record : files) recorded.push_back(readers.emplace_back(record).run().name);
  const Names in_full = names.empty() ? distinct_names(recorded, files) : names;
  const Names shown = names.empty() ? shortened_names(in_full) : names;
  if (!baseline.empty()) {
    if (std::none_of(chosen.begin(), chosen.end(), shows_together))
      throw UsageError("--baseline is for a visualizer that shows differences to it; name one: --visualizer html");
    arguments.options.push_back(option_text("baseline", shown_baseline(baseline, in_full, shown)));
    chosen = choose_visualizers(arguments, catalogue);
  }
  OutputFiles written("compare", visualizers.force);
  for (const ComponentConfig& each : chosen) {
    const std::size_t runs = shows_together(each) ? 1 : files.size();
    for (std::size_t i = 0; i < runs; ++i) written.expect(each, folder_of(i, shown), files);
  }

  if (!visualizers.out.empty()) make_out_folder(visualizers.out);
  const Played played =
      follow ? play_until_ended(catalogue, arguments, chosen.front(), files, shown) : play(chosen, readers, shown);
  tell_comparison(shown, played.results, played.states, output_columns(), out);
  written.tell(out);
  if (!shows) out << "Add --out FOLDER for a report with all curves.\n";
  errors << played.left_out;
  return 0;
}

}  // namespace loupe
