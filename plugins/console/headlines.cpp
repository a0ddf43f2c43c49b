#include "console/headlines.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "console/text.h"

namespace loupe::console {
namespace {

constexpr std::size_t most_values = 60;
constexpr const char* loss_tag = "Loss";

/// Plots that go by the names of their lines.
bool is_named_by_row(const std::string& tag) {
  return tag == loss_tag || tag == "Metrics" || tag == "Loss & Metrics";
}

/// What shows the worst of the layers is no number of the whole model.
bool is_of_whole_model(const Table& table) {
  const Style& style = table.style();
  return style.big && !style.probability && !style.relation && !style.bounded;
}

/// How many events of a loss were NaN, as the lenses tell it beside.
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

/// Whether the unit says what the name does, as "samples/s" of "Samples per Second".
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

void Headlines::begin(std::string training, std::string validation) {
  *this = {};
  training_ = std::move(training);
  validation_ = std::move(validation);
}

void Headlines::take(const std::deque<Table>& tables, double epoch, bool is_whole) {
  for (const Table& table : tables) {
    if (!is_of_whole_model(table)) continue;
    for (const Row& row : table.rows()) {
      const std::string key = table.key() + '\n' + row.key;
      auto known = std::find_if(numbers_.begin(), numbers_.end(), [&](const Number& each) { return each.key == key; });
      if (known == numbers_.end()) {
        // Beside the others of its plot, such as the rate of the optimizer that it takes the place of.
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
      known->values.push_back(known->last);
      if (known->values.size() > most_values) known->values.pop_front();
      known->nan_count = known->is_loss && std::isnan(known->last) ? nan_count_of(tables, table.key(), row.key) : 0;
      if (!known->is_loss || !is_whole || !std::isfinite(known->last) || known->last >= known->best) continue;
      known->best = known->last;
      known->best_epoch = epoch;
    }
    if (is_named_by_row(table.key())) continue;  // validation may come in some epochs only
    const auto is_over = [&](const Number& each) { return each.tag == table.key() && each.epoch != epoch; };
    numbers_.erase(std::remove_if(numbers_.begin(), numbers_.end(), is_over), numbers_.end());
  }
}

std::string Headlines::in_a_line(double epoch) const {
  std::string text;
  for (const bool losses : {true, false}) {
    for (const Number& each : numbers_) {
      if (each.epoch != epoch || each.is_loss != losses || each.unit == "steps/s") continue;
      text += text.empty() ? "" : "  ";
      text += (says_name(each.unit, each.name) ? "" : each.name + " ") + short_number(each.last);
      if (!each.unit.empty() && !each.is_loss) text += " " + each.unit;
      if (each.nan_count > 0) text += " (" + number_text(each.nan_count) + " were NaN)";
    }
  }
  return text;
}

std::string Headlines::best() const {
  std::string text;
  for (const Number& each : numbers_) {
    if (std::isnan(each.best)) continue;
    text += (text.empty() ? "best: " : ", ") + each.name + " " + short_number(each.best) + " in epoch " +
            number_text(each.best_epoch);
  }
  return text;
}

}  // namespace loupe::console
