#include "console/headlines.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "console/text.h"

namespace loupe::console {
namespace {

constexpr std::size_t most_values = 60;
constexpr const char *loss_tag = "Loss", *rate_tag = "Learning Rate";

/// Plots whose rows are named by line, not by layer.
bool is_named_by_row(const std::string& tag) {
  return tag == loss_tag || tag == "Metrics" || tag == "Loss & Metrics";
}

/// Whether the rows are numbers of the whole model; plots of the worst layers are not.
bool is_of_whole_model(const Table& table) {
  const Style& style = table.style();
  return style.big && !style.probability && !style.relation && !style.bounded;
}

/// The number of NaN events of a loss, as its lens counted them.
double nan_count_of(const std::deque<Table>& tables, const std::string& tag, const std::string& loss) {
  for (const Table& table : tables) {
    if (table.key() != "Non-Finite Values") continue;
    const auto column = std::find(table.columns().begin(), table.columns().end(), loss + " NaN");
    const auto place = static_cast<std::size_t>(column - table.columns().begin());
    for (const Row& row : table.rows()) {
      if (row.key == tag && place < row.cells.size() && row.known[place]) return row.cells[place];
    }
  }
  return 0;
}

/// Whether the unit already contains the name: "samples/s" for "Samples per Second".
bool says_name(const std::string& unit, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const std::size_t per = unit.rfind("/s");
  return per != std::string::npos && name == unit.substr(0, per) + " per second";
}

std::string name_of(const Table& table, const Row& row) {
  if (is_named_by_row(table.key())) return row.name;
  return table.rows().size() == 1 ? table.title() : table.title() + " " + row.name;
}

}  // namespace

std::string Headlines::Number::text() const {
  return tag == rate_tag ? shortest_number(last) : short_number(last);
}

void Headlines::begin(std::string training, std::string validation) {
  *this = {};
  training_ = std::move(training);
  validation_ = std::move(validation);
}

void Headlines::take(const std::deque<Table>& tables, double epoch, bool is_whole) {
  ++ticks_;
  for (const Table& table : tables) {
    if (!is_of_whole_model(table)) continue;
    for (const Row& row : table.rows()) {
      const std::string key = table.key() + '\n' + row.key;
      auto known = std::find_if(numbers_.begin(), numbers_.end(), [&](const Number& each) { return each.key == key; });
      if (known == numbers_.end()) {
        // Insert after other numbers of its plot, for example a new optimizer's rate after the old one's.
        const auto last = std::find_if(numbers_.rbegin(), numbers_.rend(),
                                       [&](const Number& each) { return each.tag == table.key(); });
        known = numbers_.insert(last == numbers_.rend() ? numbers_.end() : last.base(), Number());
        known->key = key;
        known->tag = table.key();
        known->is_loss = table.key() == loss_tag || row.key == training_ || row.key == validation_;
      }
      known->name = name_of(table, row);
      known->unit = table.style().unit;
      known->last = row.cells[row.main()];
      known->epoch = epoch;
      known->tick = ticks_;
      known->values.push_back(known->last);
      if (known->values.size() > most_values) known->values.pop_front();
      known->nan_count = known->is_loss && std::isnan(known->last) ? nan_count_of(tables, table.key(), row.key) : 0;
      if (!known->is_loss || !is_whole || !std::isfinite(known->last) || known->last >= known->best) continue;
      known->best = known->last;
      known->best_epoch = epoch;
    }
    if (is_named_by_row(table.key())) continue;  // validation may come in only some epochs
    const auto is_over = [&](const Number& each) { return each.tag == table.key() && each.epoch != epoch; };
    numbers_.erase(std::remove_if(numbers_.begin(), numbers_.end(), is_over), numbers_.end());
  }
  // If several losses are trained, for example an actor's and a critic's, the lowest value is not the best.
  const auto count =
      std::count_if(numbers_.begin(), numbers_.end(), [this](const auto& each) { return is_trained(each); });
  if (count < 2) return;
  for (Number& each : numbers_) {
    if (is_trained(each)) each.best = NAN;
  }
}

bool Headlines::has_ended(const Number& number) const {
  constexpr std::size_t enough = 2;
  return is_trained(number) && std::any_of(numbers_.begin(), numbers_.end(), [&](const Number& each) {
           return is_trained(each) && each.tick >= number.tick + enough;
         });
}

std::string Headlines::in_a_line(double epoch) const {
  std::string text;
  for (const bool losses : {true, false}) {
    for (const Number& each : numbers_) {
      if (each.epoch != epoch || each.is_loss != losses || each.unit == "steps/s") continue;
      text += text.empty() ? "" : "  ";
      text += (says_name(each.unit, each.name) ? "" : each.name + " ") + each.text();
      if (!each.unit.empty() && !each.is_loss) text += " " + each.unit;
      if (each.nan_count > 0)
        text += " (" + number_text(each.nan_count) + (each.nan_count == 1 ? " value was NaN)" : " values were NaN)");
    }
  }
  return text;
}

std::string Headlines::last_losses(double epoch) const {
  std::string text;
  for (const Number& each : numbers_) {
    if (!each.is_loss) continue;
    // The last value of an epoch that was cut short may be the lowest, but is not compared with those of whole ones.
    const bool has_better = !std::isnan(each.best) && !(each.last <= each.best);
    const std::string last = short_number(each.last), best = has_better ? short_number(each.best) : last;
    text += (text.empty() ? "last: " : ", ") + each.name + " " + last;
    if (each.epoch != epoch) text += " in epoch " + number_text(each.epoch);
    if (best != last) text += " (best " + best + " in epoch " + number_text(each.best_epoch) + ")";
  }
  return text;
}

void Parts::take(const std::deque<Table>& tables) {
  constexpr std::size_t most_epochs = 1000;
  const auto table = std::find_if(tables.begin(), tables.end(), [](const Table& each) {
    return each.style().relation && each.style().big && !each.style().unit.empty();
  });
  if (table == tables.end()) return;
  title_ = table->title();
  unit_ = table->style().unit;
  for (const Row& row : table->rows()) {
    const double value = row.cells[row.main()];
    if (!std::isfinite(value)) continue;
    auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& each) { return each.name == row.name; });
    if (part == parts_.end()) part = parts_.insert(part, {row.name, {}});
    part->values.push_back(value);
    if (part->values.size() > most_epochs) part->values.pop_front();
  }
}

std::string Parts::in_a_line() const {
  std::vector<std::pair<double, std::string>> parts;
  double whole = 0;
  for (const Part& part : parts_) {
    std::vector<double> values(part.values.begin(), part.values.end());
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    parts.emplace_back(*middle, part.name);
    whole += *middle;
  }
  if (!(whole > 0)) return "";
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text =
      title_ + " " + (whole >= 99.5 ? std::to_string(std::lround(whole)) : rounded_text(whole, 2)) + " " + unit_;
  const char* before = ": ";
  for (const auto& [part, name] : parts) {
    const long percent = std::lround(100 * part / whole);
    if (percent == 0) break;
    text += std::exchange(before, ", ") + name + " " + std::to_string(percent) + " %";
  }
  return text;
}

namespace {

std::string bar(double share) {
  constexpr int length = 16;
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * length);
  std::string text;
  for (int i = 0; i < length; ++i) text += i < full ? "━" : "─";
  return text;
}

// Seconds until the end of the run if its length is known, else of the epoch; negative if unknown.
double seconds_left(const Progress& progress) {
  if (progress.steps == 0 || progress.steps_before == 0 || progress.seconds <= 0) return -1;
  const double rate = static_cast<double>(progress.steps) / progress.seconds;
  if (progress.epochs == 0 && progress.steps > progress.steps_before) return -1;
  const auto an_epoch = static_cast<double>(progress.steps_before);
  const double this_epoch = std::max(0.0, an_epoch - static_cast<double>(progress.steps));
  const double later = std::max(0.0, progress.epochs - progress.at.epoch) * an_epoch;
  return (this_epoch + later) / rate;
}

/// "45 s", "2 min 10 s", "3 h 5 min".
std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e15)));
  const std::int64_t minutes = whole / 60, hours = minutes / 60;
  if (hours > 0) return std::to_string(hours) + " h " + std::to_string(minutes % 60) + " min";
  if (minutes > 0) return std::to_string(minutes) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole) + " s";
}

}  // namespace

std::string progress_line(const Progress& progress, std::size_t width) {
  struct Part {
    std::string text;
    int importance;
  };
  std::vector<Part> parts;
  const std::string of_all = progress.epochs > 0 ? " of " + number_text(progress.epochs) : "";
  parts.push_back({"epoch " + number_text(progress.at.epoch) + of_all, 6});
  const std::string steps = std::to_string(progress.steps);
  // An epoch that is longer than the one before has an unknown length.
  if (progress.steps_before >= std::max<std::uint64_t>(progress.steps, 1)) {
    parts.push_back({bar(static_cast<double>(progress.steps) / static_cast<double>(progress.steps_before)), 1});
    parts.push_back({steps + " of " + std::to_string(progress.steps_before) + " steps", 4});
  } else {
    parts.push_back({steps + " steps", 4});
  }
  if (progress.seconds > 0 && progress.steps > 0) {
    parts.push_back({short_number(static_cast<double>(progress.steps) / progress.seconds) + " steps/s", 3});
  }
  if (const double left = seconds_left(progress); left >= 0) {
    parts.push_back({duration_text(left) + " left" + (progress.epochs > 0 ? "" : " in this epoch"), 5});
  }

  const auto joined = [&parts] {
    std::string text;
    for (const Part& part : parts) text += (text.empty() ? "" : "  ") + part.text;
    return text;
  };
  while (parts.size() > 1 && display_width(joined()) > width) {
    parts.erase(std::min_element(parts.begin(), parts.end(),
                                 [](const Part& a, const Part& b) { return a.importance < b.importance; }));
  }
  return shortened(joined(), width);
}

void Pace::take(const Tick& tick) {
  seconds_ = tick.at.elapsed - last_elapsed_;
  steps_ = tick.at.step - last_step_;
  last_elapsed_ = tick.at.elapsed;
  last_step_ = tick.at.step;
}

std::string Pace::text() const {
  constexpr double shortest = 0.001;
  if (!(seconds_ >= shortest)) return "";
  const std::string seconds = rounded_text(seconds_) + " s";
  if (steps_ == 0) return seconds;
  const double rate = static_cast<double>(steps_) / seconds_;
  constexpr double many = 100;
  return seconds + "  " + (rate < many ? rounded_text(rate) : std::to_string(std::llround(rate))) + " steps/s";
}

}  // namespace loupe::console
