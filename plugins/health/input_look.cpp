// What health looks at in the input of a model.

#include <algorithm>
#include <cmath>

#include "health/rules/elements.h"
#include "health/watches.h"

namespace loupe::health {

/// The first input of the first pass after a step: whether it is the one before, and of what scale it is. Some elements
/// tell that it is another; that it is the same all of them do.
void OutputWatch::look_at_input(const Event& event) {
  constexpr int64_t most_looked_at = 256;
  if (event.input_count() == 0) return;
  const Elements input(event.input(0).raw());
  if (!input.readable()) return;
  // An agent that acts may stay where it is for a while.
  if (!model_.input.is_known && event.grad_enabled()) {
    Model::InputLook& look = model_.input;
    look.some = input.hash(most_looked_at);
    look.is_known = true;
    look.is_whole = input.count() <= most_looked_at;
    look.is_one_row = input.dim() < 2 || input.size(0) == 1;
    const bool may_be_last = look.some == model_.last_input.some && model_.may_repeat();
    if (!look.is_whole && (may_be_last || model_.order.looks_at_all())) {
      look.all = input.hash(input.count());
      look.is_whole = true;
    }
    look.is_constant = model_.order.is_open() && input.are_constant();
    look.constant = look.is_constant ? input.at(0) : 0;
    look_at_rows(input);
  }
  if (!input.floating() || events_ % 4 != 1) return;
  if (event.grad_enabled()) count_rows(input);
  double sum = 0, sum_squares = 0;
  int64_t count = 0;
  input.read_by([&](const auto& at) {
    input.sample(most_looked_at, [&](int64_t place) {
      const double value = at(place);
      if (!std::isfinite(value)) return;
      sum += value;
      sum_squares += value * value;
      ++count;
    });
  });
  // One batch far from all others says nothing of them.
  constexpr double far = 1e6;
  const auto mean = [](double total, int64_t of) { return total / static_cast<double>(std::max<int64_t>(of, 1)); };
  const double usual = mean(model_.input_sum_squares, model_.input_count);
  if (usual > 0 && mean(sum_squares, count) > far * usual) return;
  model_.input_sum += sum;
  model_.input_sum_squares += sum_squares;
  model_.input_count += count;
}

/// Whether all rows of a batch are the same. Most differ in one of the few elements that are looked at first; that they
/// are the same all elements show. Which dimension has the samples the targets say, later: see
/// Model::rows_are_samples().
void OutputWatch::look_at_rows(const Elements& input) {
  constexpr int64_t fewest_rows = 4, few_rows = 8, few_columns = 64;
  model_.input_rows = input.dim() > 0 ? input.size(0) : 0;
  // Of (time, samples, features) either may be as long as the targets.
  if (input.dim() == 3 && input.size(0) == input.size(1)) model_.input_rows = 0;
  // What is repeated on purpose lies there once.
  if (input.dim() < 2 || input.size(0) < fewest_rows || input.count() == 0 || input.repeats_first_row()) return;
  const int64_t columns = input.count() / input.size(0);
  model_.has_equal_rows = input.read_bits_by([&](const auto& bits) {
    const auto are_same = [&](int64_t rows, int64_t looked_at) {
      for (int64_t row = 1; row < rows; ++row) {
        for (int64_t i = 0; i < looked_at; ++i) {
          const int64_t column = looked_at == columns ? i : scattered_place(i, looked_at, columns);
          if (bits(row * columns + column) != bits(column)) return false;
        }
      }
      return true;
    };
    return are_same(std::min(few_rows, input.size(0)), std::min(columns, few_columns)) &&
           are_same(input.size(0), columns);
  });
}

/// How many different rows there are, until there are so many that it is of no concern.
void OutputWatch::count_rows(const Elements& input) {
  constexpr int64_t fewest_columns = 8, most_columns = 16, most_rows = 64;
  DistinctRows& known = model_.distinct_rows;
  if (known.is_many || input.dim() < 2 || input.size(0) < DistinctRows::fewest_in_batch) return;
  const int64_t columns = input.count() / input.size(0), rows = std::min(most_rows, input.size(0));
  if (columns < fewest_columns) return;
  const int64_t looked_at = std::min(columns, most_columns);
  const auto mix = [&](uint64_t hash, int64_t place) {
    return (hash ^ input.bits(place)) * 0x9e3779b97f4a7c15 ^ hash >> 29;
  };
  for (int64_t row = 0; row < rows && !known.is_many; ++row) {
    uint64_t hash = 0;
    bool is_discrete = true;
    for (int64_t i = 0; i < looked_at; ++i) {
      const int64_t place = row * columns + scattered_place(i, looked_at, columns);
      const double value = input.at(place);
      is_discrete = is_discrete && value == std::floor(value);
      hash = mix(hash, place);
    }
    known.take(hash, is_discrete, [&] {
      uint64_t all = 0;
      for (int64_t place = row * columns; place < (row + 1) * columns; ++place) all = mix(all, place);
      return all;
    });
  }
  known.smallest_batch = known.looks == 0 ? rows : std::min(known.smallest_batch, rows);
  ++known.looks;
}

}  // namespace loupe::health
