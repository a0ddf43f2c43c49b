#include "command/comparison.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/text.h"

namespace loupe {
namespace {

using Names = std::vector<std::string>;
using Results = std::vector<RunResult>;

constexpr std::size_t most_settings = 24;  // more columns nobody reads
constexpr std::size_t most_named = 3;      // of runs that are equally good

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

/// A setting, and each run's value; none where the run does not say.
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

/// "'a', 'b' and 'c'"; of many the first, and how many more.
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

/// Those of validation, by which runs are judged, first.
Names loss_names(const Results& results) {
  Names names;
  std::set<std::string> seen;
  for (const RunResult& result : results) {
    for (const RunResult::Loss& loss : result.losses()) {
      if (seen.insert(loss.name).second) names.push_back(loss.name);
    }
  }
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.find("val") != std::string::npos; });
  return names;
}

/// Where a loss is lowest: the runs that reach that; none where fewer than two runs can be compared.
std::set<std::size_t> best_runs(const std::string& loss, const Results& results) {
  std::set<std::size_t> best;
  double lowest = 0;
  std::size_t having = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult::Loss* own = results[i].loss(loss);
    if (own == nullptr) continue;
    ++having;
    if (std::isnan(own->best)) continue;
    if (best.empty() || own->best < lowest) best.clear();
    if (best.empty()) lowest = own->best;
    if (own->best == lowest) best.insert(i);
  }
  return having < 2 ? std::set<std::size_t>() : best;
}

/// The runs, best first by the first loss that can be compared; those without it stand last. Equals stay as they are.
std::vector<std::size_t> best_first(const Results& results) {
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Names losses = loss_names(results);
  const auto judged = std::find_if(losses.begin(), losses.end(),
                                   [&](const std::string& loss) { return !best_runs(loss, results).empty(); });
  if (judged == losses.end()) return order;
  const auto best = [&](std::size_t run) {
    const RunResult::Loss* own = results[run].loss(*judged);
    return own == nullptr || std::isnan(own->best) ? std::numeric_limits<double>::infinity() : own->best;
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
    out << "only " << in_quotes(having.front()) << " has the loss " << shown << ", so that nothing compares with it\n";
  } else if (best.empty()) {
    out << shown << " was finite in no run\n";
  } else {
    const RunResult::Loss& loss_of_best = *results[*runs.begin()].loss(loss);
    out << "best " << shown << ": " << in_words(best) << " with " << rounded(loss_of_best.best);
    if (best.size() == 1) out << " in epoch " << number_text(loss_of_best.best_epoch);
    if (having.size() < names.size()) out << ", of the " << having.size() << " runs that have it";
    out << "\n";
  }
}

void tell_best(const Names& names, const Results& results, std::ostream& out) {
  const Names losses = loss_names(results);
  if (names.size() < 2) return;
  for (const std::string& loss : losses) tell_best(loss, names, results, out);
  if (losses.empty()) out << "no run has a loss, so that none can be called the best\n";
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

/// Of the configuration, not of the training.
bool is_of_watching(const std::string& setting) {
  return setting.rfind("lenses.", 0) == 0 || setting.rfind("visualizers.", 0) == 0;
}

void add_loss(const std::string& loss, const Results& results, std::vector<Column>& columns) {
  Column value{printable_line(loss), {}, true}, epoch{"in epoch", {}, true}, last{"last", {}, true};
  const std::set<std::size_t> best = best_runs(loss, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult::Loss* own = results[i].loss(loss);
    const bool has_best = own != nullptr && !std::isnan(own->best);
    value.cells.push_back(has_best ? (best.count(i) != 0 ? "* " : "") + rounded(own->best) : "-");
    epoch.cells.push_back(has_best ? number_text(own->best_epoch) : "-");
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

}  // namespace

void tell_comparison(const std::vector<std::string>& names, const std::vector<RunResult>& results,
                     std::optional<std::size_t> columns, std::ostream& out) {
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
  Column state{"state", {}}, findings{"findings", {}};
  for (const RunResult& result : results) {
    state.cells.push_back(result.state());
    findings.cells.push_back(printable_line(result.worst_finding()));
  }
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
    out << shortened_end("the same in all: " + same, columns.value_or(std::string::npos)) << "\n";
}

}  // namespace loupe
