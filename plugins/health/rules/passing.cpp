#include "health/rules/passing.h"

#include <loupe/draft/abi/loss_input.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "health/rules/alikeness.h"

namespace loupe::health {
namespace {

/// Whether the target counts for a loss over classes: -100 is ignored by default.
bool counts(double target, int64_t classes) {
  return target >= 0 && target < static_cast<double>(classes);
}

}  // namespace

void KeptInput::take(const Elements& from) {
  kept = 0;
  if (from.dim() == 0 || from.count() == 0 || 4 * (from.count() / from.size(0)) > most) return;
  dim = from.dim();
  first = from.size(0);
  second = dim > 1 ? from.size(1) : 1;
  columns = from.count() / first;
  kept = std::min(first, most / columns);
  is_floating = from.floating();
  values.resize(most);
  from.read_by([&](const auto& at) {
    for (int64_t place = 0; place < kept * columns; ++place) values[static_cast<std::size_t>(place)] = at(place);
  });
}

int64_t SameColumns::column() const {
  int64_t found = -1;
  for (int64_t each = 0; each < static_cast<int64_t>(alive.size()); ++each) {
    const bool is_better = overlap(each) == width || found < 0 || overlap(found) < width;
    if (alive[static_cast<std::size_t>(each)] != 0 && is_better) found = each;
  }
  return found;
}

void SameColumns::take(const KeptInput& input, const Elements& targets, uint32_t of) {
  if (input.kept == 0 || !targets.readable() || targets.dim() == 0 || targets.size(0) < 2) return;
  const int64_t samples = targets.size(0);
  const bool is_first = samples == input.first;
  // Layers of LibTorch's may have time first.
  if (!is_first && (input.dim < 2 || samples != input.second || input.kept != input.first)) return;
  const int64_t length = is_first ? input.columns : input.first * (input.columns / input.second);
  const int64_t its_width = targets.count() / samples;
  if (its_width > length || its_width > KeptInput::most || (!input.is_floating && its_width > 1)) return;
  if (looks == 0) {
    function = of;
    width = its_width;
    columns = length;
    in_step = !is_first || input.dim > 2 ? input.columns / input.second : length;
    for (int64_t column = 0; column < columns; ++column) {
      const bool is_whole = overlap(column) == width, is_compared = is_whole || 2 * overlap(column) <= width;
      alive.push_back((width <= most_width ? is_compared : is_whole && width == columns) ? 1 : 0);
    }
  }
  if (of != function || its_width != width || length != columns) return;
  const int64_t inner = is_first ? columns : input.columns / input.second;
  const auto given = [&](int64_t row, int64_t column) {
    const int64_t place =
        is_first ? row * columns + column : (column / inner * input.second + row) * inner + column % inner;
    return input.values[static_cast<std::size_t>(place)];
  };
  const int64_t rows_taken = is_first ? input.kept : samples;
  const auto is_same = [&](int64_t row, int64_t column, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (given(row, column + i) != targets.at(row * width + i)) return false;
    }
    return true;
  };
  for (int64_t row = 0; row < rows_taken; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      uint8_t& is_alive = alive[static_cast<std::size_t>(column)];
      is_alive &= is_alive != 0 && is_same(row, column, overlap(column)) ? 1 : 0;
    }
    changes += row > 0 && targets.at(row * width) != targets.at((row - 1) * width) ? 1 : 0;
  }
  rows += rows_taken;
  ++looks;
}

void TokenShift::take_output(const Elements& from) {
  scores = 0;
  if (!from.readable() || !from.floating() || from.dim() < 2) return;
  const int64_t width = from.size(-1), places = from.count() / width;
  constexpr auto most_places = static_cast<int64_t>(std::tuple_size_v<decltype(output)> / 4);
  scores = std::min<int64_t>(4, width);
  output.fill(NAN);
  for (int64_t place = 0; place < std::min(places, most_places); ++place) {
    for (int64_t i = 0; i < scores; ++i) output[static_cast<std::size_t>(4 * place + i)] = from.at(place * width + i);
  }
}

/// The number of positions at the front of the model's output that the loss leaves out; -1 if unknown.
int64_t TokenShift::cut_at_front(const Elements& given, int64_t length, int64_t whole) const {
  if (length == whole) return 0;
  if (scores == 0 || !given.readable() || given.dim() < 2) return -1;
  int64_t inner = 1;
  for (int64_t d = 2; d < given.dim(); ++d) inner *= given.size(d);
  for (int64_t place = 0; place <= furthest; ++place) {
    bool is_it = given.size(1) >= scores;
    for (int64_t i = 0; is_it && i < scores; ++i)
      is_it = given.at(i * inner) == output[static_cast<std::size_t>(4 * place + i)];
    if (is_it) return place;
  }
  return -1;
}

/// Compares as (samples, time) and as (time, samples), because flat targets may be either.
void TokenShift::take(const KeptInput& input, const Elements& given, const Elements& targets, double share_of_guess) {
  if (input.kept == 0 || input.is_floating || input.dim != 2 || !targets.readable() || targets.floating()) return;
  if (!given.readable() || given.dim() < 2) return;
  int64_t found = -1, compared = 0, looked = 0;
  bool any_next = false;
  for (const bool time_first : {false, true}) {
    const Shares shares = shares_of(input, given, targets, time_first);
    if (!shares.are_known) continue;
    ++looked;
    any_next = any_next || shares.of[1] >= 0.5;
    const int64_t only = shares.only();
    if (only < 0) continue;
    found = only;
    compared = shares.places[static_cast<std::size_t>(only)];
  }
  if (looked == 0) return;
  takes_next = takes_next || any_next;
  if (found < 0) return void(++others);
  if (found != by) looks = 0, places = 0;
  by = found;
  ++looks;
  places += compared;
  loss = share_of_guess;
}

TokenShift::Shares TokenShift::shares_of(const KeptInput& input, const Elements& given, const Elements& targets,
                                         bool time_first) const {
  constexpr int64_t fewest_places = 32, shortest = 4;
  Shares shares;
  const int64_t samples = time_first ? input.second : input.first, whole = time_first ? input.first : input.second;
  const int64_t length = targets.count() / samples;
  if (targets.count() % samples != 0 || length > whole || length < whole - furthest || length < shortest) return shares;
  if (time_first && (input.kept != input.first || length != whole)) return shares;
  const int64_t cut = cut_at_front(given, length, whole);
  if (cut < 0) return shares;
  const int64_t classes = given.size(1), rows = time_first ? samples : input.kept;
  std::array<int64_t, furthest + 1> same{};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t t = 0; t < length; ++t) {
      const double target = targets.at(time_first ? t * samples + row : row * length + t);
      if (!counts(target, classes)) continue;
      for (int64_t moved = 0; moved <= std::min(furthest, whole - 1 - t - cut); ++moved) {
        const int64_t at = t + cut + moved, place = time_first ? at * samples + row : row * whole + at;
        ++shares.places[static_cast<std::size_t>(moved)];
        same[static_cast<std::size_t>(moved)] += input.values[static_cast<std::size_t>(place)] == target ? 1 : 0;
      }
    }
  }
  for (std::size_t i = 0; i < same.size(); ++i) {
    if (shares.places[i] >= fewest_places)
      shares.of[i] = static_cast<double>(same[i]) / static_cast<double>(shares.places[i]);
  }
  shares.are_known = true;
  return shares;
}

/// The shift of the targets in positions; -1 if there is none, or several fit because words repeat.
int64_t TokenShift::Shares::only() const {
  constexpr double nearly_all = 0.98, half = 0.5;
  const auto found = std::ranges::find_if(of, [](double share) { return share >= nearly_all; });
  const bool is_only = std::ranges::count_if(of, [](double share) { return share >= half; }) == 1;
  return found != of.end() && is_only ? found - of.begin() : -1;
}

void RepeatedRows::take(const Elements& input) {
  constexpr int64_t fewest_rows = 4, most_rows = 1024, fewest_columns = 4;
  constexpr uint32_t looks_enough = 32;
  times = 0;
  outputs_differ = false;
  // A faulty loader repeats rows from the first batch on.
  if ((batches == 0 && looks == looks_enough) || !HashedRows::fits(input, fewest_columns)) return;
  const auto count = static_cast<std::size_t>(input.size(0));
  if (input.size(0) < fewest_rows || input.size(0) > most_rows) return;
  ++looks;
  const HashedRows hashed(input, most_rows);
  hashes.resize(count);
  for (std::size_t row = 0; row < count; ++row)
    hashes[row] = {hashed.quick(static_cast<int64_t>(row)), static_cast<int64_t>(row)};
  std::ranges::sort(hashes);
  if (hashes[0].first == 0) return;  // whole numbers, such as states and words
  std::size_t of_each = 0;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && hashes[end].first == hashes[begin].first) ++end;
    if (begin > 0 && end - begin != of_each) return;
    of_each = end - begin;
  }
  if (of_each < 2 || of_each == count) return;
  for (std::size_t i = 1; i < count; ++i) {
    if (i % of_each != 0 && hashed.whole(hashes[i].second) != hashed.whole(hashes[i - 1].second)) return;
  }
  times = static_cast<int64_t>(of_each);
  rows = input.size(0);
  one = hashes[0].second;
  other = hashes[1].second;
}

/// A random model may intentionally get each sample several times.
void RepeatedRows::take_output(const Elements& output) {
  constexpr double rounding = 1e-4;
  constexpr int64_t most = 64;
  if (times == 0 || !output.readable() || output.dim() == 0 || output.size(0) != rows) return;
  const int64_t columns = output.count() / rows;
  for (int64_t i = 0; i < std::min(most, columns) && !outputs_differ; ++i) {
    const double a = output.at(one * columns + i), b = output.at(other * columns + i);
    outputs_differ = std::abs(a - b) > rounding * (std::abs(a) + std::abs(b));
  }
}

void RepeatedRows::take_targets(const Elements& targets) {
  has_same_targets = times > 0 && targets.dim() > 0 && targets.size(0) == rows;
  const int64_t width = has_same_targets ? targets.count() / rows : 0;
  for (int64_t i = 0; i < width && has_same_targets; ++i)
    has_same_targets = targets.at(one * width + i) == targets.at(other * width + i);
}

/// Reads all targets until the range is known, since a few may be masked.
void TargetRange::take(const Elements& from, const char* of) {
  constexpr uint32_t enough = 8;
  constexpr double rounding = 1e-3, near = 0.25;
  if (looks >= enough || !from.readable()) return;
  ++looks;
  function = of;
  from.read_by([&](const auto& at) {
    for (int64_t place = 0; place < from.count(); ++place) {
      const double value = at(place);
      if (!std::isfinite(value)) continue;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
      if (value >= -rounding && value <= 1 + rounding) {
        has_low = has_low || value < near;
        has_high = has_high || value > 1 - near;
      } else {
        are_various = are_various || (!std::isnan(outside) && value != outside);
        outside = value;
      }
    }
  });
}

void BoundedScores::take(const Elements& from, double of, int64_t count, int64_t right_ones) {
  constexpr int64_t most = 1024;
  if (from.dim() != 2 || !std::isfinite(of)) return;
  from.sample(most, [&](int64_t place) {
    smallest = std::min(smallest, from.at(place));
    largest = std::max(largest, from.at(place));
  });
  classes = from.size(1);
  answers += count;
  right += right_ones;
  loss += of;
  ++looks;
}

/// A model that is mostly right would make unbounded scores larger.
void BoundedScores::end_epoch() {
  constexpr uint32_t looks_enough = 4;
  constexpr double bound = 1.0005, near = 0.8;
  if (looks < looks_enough) return;
  were_larger = were_larger || largest > bound || smallest < -bound;
  floor = std::log1p(static_cast<double>(classes - 1) * std::exp(-2.0));
  guess = std::log(static_cast<double>(classes));
  epochs = !were_larger && largest > near && 2 * right > answers ? epochs + 1 : 0;
  now = loss / looks;
  smallest = largest = loss = 0;
  answers = right = 0;
  looks = 0;
}

void InputRange::take(const Elements& from) {
  constexpr int64_t most = 1024, fewest_in_batch = 16;
  constexpr double too_large = 1e30, smallest_normal = 1.17e-38, far = 1e3;
  if (!from.floating()) return;
  InputRange batch;
  from.read_by([&](const auto& at) {
    from.sample(most, [&](int64_t place) {
      const double value = at(place), size = std::abs(value);
      if (!std::isfinite(value)) return;
      ++batch.count;
      batch.sum += value;
      batch.squares += value * value;
      batch.largest = std::max(batch.largest, size);
      const bool is_huge = size > too_large, is_denormal = size > 0 && size < smallest_normal;
      batch.huge += is_huge ? 1 : 0;
      batch.denormal += is_denormal ? 1 : 0;
      if (is_huge || (is_denormal && batch.huge == 0)) batch.example = value;
    });
  });
  if (!from.is_low_precision() && batch.count >= fewest_in_batch) {
    ++batches;
    seen += batch.count;
    huge += batch.huge;
    denormal += batch.denormal;
    if (batch.example != 0) example = batch.example;
  }
  if (scale() > 0 && batch.scale() > far * scale()) return;  // one extreme batch shows nothing about the others
  sum += batch.sum;
  squares += batch.squares;
  largest = std::max(largest, batch.largest);
  count += batch.count;
}

void SoftmaxLook::take(const Layer& layer, const Elements& output) {
  constexpr int64_t fewest = 4, most_rows = 1024, lines = 8;
  if (!output.readable() || !output.floating() || output.dim() < 2 || output.count() == 0) return;
  const bool is_logarithm = layer.type.front() == 'L' || layer.type.front() == 'l';
  const auto adds_up = [&](int64_t first, int64_t stride, int64_t length, double tolerance) {
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const double value = output.at(first + i * stride);
      sum += is_logarithm ? std::exp(value) : value;
    }
    return std::abs(sum - 1) < tolerance;
  };
  const int64_t batch = output.size(0), n = output.count() / batch;
  if (over_batch != nullptr || batch < fewest || batch > most_rows || n < 2) return;
  for (int64_t d = 1; d < output.dim(); ++d) {
    if (output.size(d) == batch) return;
  }
  const int64_t taken = std::min(lines, n);
  for (int64_t i = 0; i < taken; ++i) {
    if (!adds_up(scattered_place(i, taken, n), n, batch, 1e-3)) return;
  }
  // The sums must not be 1 along any other dimension of the first samples.
  int64_t inner_size = n;
  for (int64_t d = 1; d < output.dim(); ++d) {
    inner_size /= output.size(d);
    bool is_other = false;
    for (int64_t row = 0; row < std::min(lines, batch) && !is_other; ++row)
      is_other = !adds_up(row * n, inner_size, output.size(d), 0.05);
    if (!is_other) return;
  }
  over_batch = &layer;
  rows = batch;
  inner = n;
  is_attention = output.dim() == 4 && output.size(2) == output.size(3);
}

void Passing::take_run(const Layer& layer, const Event& event, const Run& run) {
  ran_without_grad = ran_without_grad || !event.grad_enabled();
  if (!event.grad_enabled() || !event.tensor()) return;
  const Elements output(event.tensor().raw());
  const bool has_input = event.input_count() > 0;
  // The words may come after their positions, which also use an embedding.
  if (has_input && !run.is_first && input.dim == 1 && layer.module->family == LOUPE_FAMILY_EMBEDDING) {
    const Elements words(event.input(0).raw());
    if (words.readable() && words.dim() == 2 && (same.is_open() || shift.is_open())) input.take(words);
  }
  if (run.is_first && has_input) {
    const Elements given(event.input(0).raw());
    input.kept = 0;
    repeats.times = 0;
    if (given.readable()) {
      repeats.take(given);
      if (same.is_open() || (shift.is_open() && !given.floating())) input.take(given);
    }
    shift.recurrent = 0;
  }
  if (run.is_last) repeats.take_output(output);
  if (same.is_open() && output.readable() && output.dim() > 1 && output.count() > 0)
    same.narrowest = std::min(same.narrowest, output.count() / output.size(0));
  same.drops = same.drops || layer.role == Role::dropout;
  if (shift.is_open() && input.kept > 0 && !input.is_floating) {
    if (run.is_last) shift.take_output(output);
    const bool is_recurrent = layer.module->family == LOUPE_FAMILY_RECURRENT;
    shift.recurrent += is_recurrent ? 1 : 0;
    const char* settings = Module(layer.module).settings().data();
    if (is_recurrent && std::strstr(settings, "bidirectional=true") != nullptr) shift.sees_all = true;
    if (layer.module->family == LOUPE_FAMILY_ATTENTION) shift.sees_all = true;  // its mask is not known
    if (layer.role == Role::softmax && output.readable() && output.dim() >= 3 && output.size(-1) > 2 &&
        output.size(-1) == output.size(-2)) {
      const int64_t width = output.size(-1);
      (output.at(1) == 0 && output.at(width - 1) == 0 && output.at(2 * width - 1) == 0 ? shift.is_causal
                                                                                       : shift.sees_all) = true;
    }
  }
  if (layer.role == Role::softmax) softmax.take(layer, output);
}

void Passing::take_loss(const Event& event, const Given& given) {
  if (event.input_count() < 2) return;
  const Elements inputs(event.tensor().raw()), target(event.input(1).raw());
  if (!inputs.readable() || !target.readable()) return;
  const bool is_binary = given.function == LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY ||
                         given.function == LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY_WITH_LOGITS;
  const bool is_entropy = given.function == LOUPE_DRAFT_LOSS_CROSS_ENTROPY;
  const bool has_classes = is_entropy || given.function == LOUPE_DRAFT_LOSS_NLL;
  if (is_binary) targets.take(target, given.name);
  const int64_t classes = inputs.dim() > 1 ? inputs.size(1) : inputs.count();
  const double guess = std::log(static_cast<double>(std::max<int64_t>(classes, 2)));
  if (is_entropy) scores.take(inputs, given.loss, given.answers, given.right);
  repeats.take_targets(target);
  if (has_classes && shift.is_open()) shift.take(input, inputs, target, given.loss / guess);
  same.take(input, target, given.function);
}

void Passing::next_step() {
  input.kept = 0;
  repeats.times = 0;
  repeats.has_same_targets = false;
  softmax.over_batch = nullptr;
  squares.fill(0);
}

void Passing::next_window() {
  range.sum = range.squares = range.largest = 0;
  range.count = 0;
}

MeanLoss mean_cross_entropy(const Elements& scores, const Elements& targets, int64_t most_targets) {
  constexpr int64_t most = 16384;
  if (!scores.readable() || !scores.floating() || scores.dim() < 2 || scores.count() == 0) return {};
  const int64_t classes = scores.size(1), inner = scores.count() / scores.size(0) / classes;
  if (!targets.readable() || targets.floating() || targets.count() * classes != scores.count()) return {};
  const int64_t taken = std::min(targets.count(), most_targets);
  if (taken * classes > std::max(most, classes)) return {};
  MeanLoss found;
  double sum = 0;
  for (int64_t place = 0; place < taken; ++place) {
    const double right = targets.at(place);
    if (!counts(right, classes)) continue;
    const int64_t first = place / inner * classes * inner + place % inner;
    double largest = -INFINITY, exp_sum = 0;
    for (int64_t c = 0; c < classes; ++c) largest = std::max(largest, scores.at(first + c * inner));
    for (int64_t c = 0; c < classes; ++c) exp_sum += std::exp(scores.at(first + c * inner) - largest);
    sum += largest + std::log(exp_sum) - scores.at(first + static_cast<int64_t>(right) * inner);
    ++found.count;
  }
  found.mean = sum / static_cast<double>(found.count);
  return found;
}

void Passes::expect(const MeanLoss& loss) {
  const std::lock_guard lock(mutex_);
  expected_ = loss;
}

/// A program that accumulates gradients does so from the first steps on.
bool Passes::wants_means() const {
  constexpr uint32_t steps_enough = 64;
  const std::lock_guard lock(mutex_);
  return passes_before_ > 1 && (several_ < steps_enough || uneven_steps + summed_steps > 0);
}

void Passes::take(double loss) {
  const std::lock_guard lock(mutex_);
  ++step_.passes;
  const MeanLoss expected = std::exchange(expected_, {});
  step_.is_known = step_.is_known && expected.mean > 0 && std::isfinite(loss);
  if (!step_.is_known) return;
  const double share = loss / expected.mean;
  step_.fewest = std::min(step_.fewest, expected.count);
  step_.most = std::max(step_.most, expected.count);
  step_.smallest = std::min(step_.smallest, share);
  step_.largest = std::max(step_.largest, share);
}

Passes::Step Passes::end_step() {
  const std::lock_guard lock(mutex_);
  passes_before_ = step_.passes;
  several_ += passes_before_ > 1 ? 1 : 0;
  expected_ = {};
  return std::exchange(step_, {});
}

}  // namespace loupe::health
