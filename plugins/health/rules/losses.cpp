#include "health/rules/losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace loupe::health {
namespace {

constexpr std::size_t most_values = 128;
constexpr std::size_t smoothed_over = 5;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Smooths a curve by the median, since one bad batch is not a swing.
std::vector<double> smoothed(const std::vector<double>& curve) {
  std::vector<double> medians;
  std::array<double, smoothed_over> some = {};
  for (std::size_t i = 0; i + smoothed_over <= curve.size(); ++i) {
    std::copy_n(curve.begin() + static_cast<std::ptrdiff_t>(i), smoothed_over, some.begin());
    std::nth_element(some.begin(), some.begin() + smoothed_over / 2, some.end());
    medians.push_back(some[smoothed_over / 2]);
  }
  return medians;
}

std::vector<double> without_trend(std::vector<double> curve) {
  const double middle = static_cast<double>(curve.size() - 1) / 2, level = mean(curve);
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    product += x * (curve[i] - level);
    squares += x * x;
  }
  for (std::size_t i = 0; i < curve.size(); ++i)
    curve[i] -= level + product / squares * (static_cast<double>(i) - middle);
  return curve;
}

}  // namespace

void LossCurve::add(double loss) {
  sum_ += loss;
  if (++losses_in_sum_ < losses_a_value_) return;
  if (values_.size() == most_values) {
    for (std::size_t i = 0; i < most_values / 2; ++i) values_[i] = (values_[2 * i] + values_[2 * i + 1]) / 2;
    values_.resize(most_values / 2);
    losses_a_value_ *= 2;
    return;  // the sum keeps as many
  }
  values_.push_back(sum_ / static_cast<double>(losses_in_sum_));
  sum_ = 0;
  losses_in_sum_ = 0;
}

std::size_t count_turns(const std::vector<double>& curve, double noise_factor) {
  constexpr std::size_t fewest = 32;
  constexpr double share_of_mean = 0.2;
  if (curve.size() < fewest) return 0;
  double changes = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) changes += std::abs(curve[i] - curve[i - 1]);
  const double noise = changes / static_cast<double>(curve.size() - 1);
  const double swing = std::max(share_of_mean * std::abs(mean(curve)), noise_factor * noise);
  const std::vector<double> smooth = smoothed(curve);
  // The first swing may start at the lowest or the highest value so far.
  double low = smooth.front(), high = smooth.front();
  bool rises = false, has_swung = false;
  std::size_t turns = 0;
  for (const double value : smooth) {
    low = std::min(low, value);
    high = std::max(high, value);
    const bool up = value - low > swing, down = high - value > swing;
    const bool turned = has_swung ? (rises ? down : up) : up || down;
    if (!turned) continue;
    turns += has_swung ? 1 : 0;
    rises = has_swung ? !rises : up;
    has_swung = true;
    low = high = value;
  }
  return turns;
}

double correlation(const std::vector<double>& first, const std::vector<double>& second) {
  constexpr std::size_t fewest = 16;
  if (first.size() != second.size() || first.size() < fewest) return 0;
  const std::vector<double> a = without_trend(smoothed(first)), b = without_trend(smoothed(second));
  const auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  const double sizes = std::sqrt(product(a, a) * product(b, b));
  return sizes > 0 ? product(a, b) / sizes : 0;
}

void Losses::Side::add(double loss) {
  constexpr uint64_t first_losses = 10;
  if (started < first_losses) start += (loss - start) / static_cast<double>(++started);
  sum += loss;
  if (count == 0) first = loss;
  if (count > 0) changes += std::abs(loss - last);
  if (count > 1) changes_of_two += std::abs(loss - last_but_one);
  last_but_one = last;
  last = loss;
  ++count;
  curve.add(loss);
}

bool Losses::Side::end_epoch(std::size_t ended) {
  const bool is_broken = std::exchange(has_nan, false);
  if (count == 0 && !is_broken) return false;
  ended_epochs += ended;
  Epoch epoch;
  epoch.number = ended_epochs;
  epoch.mean = sum / static_cast<double>(count);
  epoch.mean_change = count > 1 ? changes / static_cast<double>(count - 1) : 0;
  epoch.mean_change_of_two = count > 2 ? changes_of_two / static_cast<double>(count - 2) : epoch.mean_change;
  epoch.count = count;
  epoch.ended = ended;
  epoch.first = first;
  constexpr std::size_t enough_values = 8;
  const std::vector<double>& values = curve.values();
  if (values.size() >= enough_values)
    epoch.at_end = mean({values.end() - static_cast<std::ptrdiff_t>(values.size() / 4), values.end()});
  // An epoch with a NaN has no mean to compare.
  if (!is_broken) epochs.push_back(epoch);
  curve_before = std::exchange(last_curve, std::exchange(curve, {}));
  sum = changes = changes_of_two = last = last_but_one = 0;
  count = 0;
  return !is_broken;
}

void Losses::process(const Event& event) {
  constexpr std::size_t most_pending = 1024;
  if (!event.is_loss()) return;
  const std::lock_guard lock(mutex);
  if (!event.training()) {
    validation.has_nan = validation.has_nan || std::isnan(event.scalar());
    if (!std::isfinite(event.scalar())) return;
    was_validated = true;
    return validation.add(event.scalar());
  }
  Training& loss = training_of(event.label());
  const bool was_bad = std::exchange(loss.is_bad_now, !std::isfinite(event.scalar()));
  if (loss.is_bad_now && !was_bad && host != nullptr) loss.makers = draft::maker_of(*host, nullptr);
  if (loss.is_bad_now) {
    loss.side.has_nan = loss.side.has_nan || std::isnan(event.scalar());
    loss.is_non_finite = true;
    loss.is_nan = loss.is_nan || std::isnan(event.scalar());
    return;
  }
  // A finite loss after an overflow, with no step in between, shows that the step was skipped.
  if (!loss.is_nan) loss.is_non_finite = false;
  loss.side.add(event.scalar());
  if (loss.pending.size() < most_pending) loss.pending.push_back(event.scalar());
}

Losses::Training& Losses::training_of(std::string_view name) {
  constexpr std::size_t most = 32;
  if (main.name.empty()) main.name = name;
  for (Training& each : trainings) {
    if (each.name == name) return each;
  }
  if (trainings.size() == most) return trainings.back();
  trainings.emplace_back().name = name;
  return trainings.back();
}

std::string Losses::shown(const Training& loss) const {
  return trainings.size() == 1 ? "the training loss" : "'" + loss.name + "'";
}

bool Losses::take_non_finite() {
  bool any = false;
  for (Training& each : trainings) {
    each.is_nan = false;
    if (!std::exchange(each.is_non_finite, false)) continue;
    non_finite = &each;
    any = true;
  }
  return any;
}

bool Losses::has_halved() const {
  return !training.epochs.empty() && training.mean_now() < 0.5 * training.epochs.front().mean;
}

bool Losses::has_come_down() const {
  const std::vector<Epoch>& epochs = training.epochs;
  const bool is_early = began_late || epochs.empty() || (epochs.size() == 1 && !training.is_under_way());
  // A tenth of a negative loss means nothing.
  return is_early || !(epochs.front().mean > 0) || training.mean_now() < 0.9 * beginning();
}

/// If the model learns quickly, the first epoch's mean is below the first losses.
double Losses::beginning() const {
  const double first = training.epochs.front().mean;
  return are_means ? first : std::max(first, training.start);
}

Trend Losses::trend(bool is_guess) const {
  constexpr std::size_t few = 3;   // epochs, including the current one if it is under way
  constexpr double as_good = 0.1;  // a share of the improvement
  constexpr double lower = 0.98;
  const std::vector<Epoch>& epochs = training.epochs;
  if (epochs.empty() && training.count == 0) return Trend::unknown;
  const std::size_t recent = few - (training.is_under_way() ? 1 : 0);
  if (began_late || epochs.empty() || !(epochs.front().mean > 0)) return Trend::falls;
  // It may fall to a guess from far above, and then stay.
  if (is_guess && epochs.size() > 1) {
    const Epoch& last = epochs[epochs.size() - (training.is_under_way() ? 1 : 2)];
    if (!(training.mean_now() < lower * last.mean)) return Trend::stays;
  }
  if (epochs.size() <= recent) return Trend::falls;
  const auto middle = epochs.end() - static_cast<std::ptrdiff_t>(recent);
  const auto lowest = [](auto begin, auto end) { return std::ranges::min_element(begin, end, {}, &Epoch::mean)->mean; };
  const double before = lowest(epochs.begin(), middle);
  const double lately = std::min(lowest(middle, epochs.end()), training.mean_now());
  if (lately < lower * before) return Trend::falls;
  const bool is_at_best = training.mean_now() <= before + as_good * (beginning() - before);
  return has_come_down() && is_at_best ? Trend::falls : Trend::stays;
}

bool Losses::is_bad_now() const {
  return std::ranges::any_of(trainings, [](const Training& each) { return each.is_bad_now; });
}

bool Losses::Epoch::compares_to(const Epoch& other) const {
  constexpr double nearly = 0.9, twice = 2;
  const auto are_near = [](double one, double two) { return std::min(one, two) + 1 >= nearly * std::max(one, two); };
  const auto all = static_cast<double>(count), all_of_other = static_cast<double>(other.count);
  const double square = input_square / other.input_square;
  const bool is_other_input = square > twice || square < 1 / twice;
  // A tick of several epochs has the losses of all of them, or only of the last if the others were not measured.
  return !is_other_input && (are_near(all, all_of_other) || are_near(all / static_cast<double>(ended),
                                                                     all_of_other / static_cast<double>(other.ended)));
}

void Losses::begin_series() {
  validation = {};
  for (Training& each : trainings) {
    std::string name = std::move(each.name);
    each = {};
    each.name = std::move(name);
  }
  began_late = true;  // the model may have learned earlier
}

Losses::EpochEnd Losses::end_epoch(double input_square, std::size_t epochs) {
  for (Training& each : trainings) {
    each.since_tick = 0;
    if (&each != &main) each.side.end_epoch(epochs);
  }
  const EpochEnd ended{training.end_epoch(epochs), validation.end_epoch(epochs)};
  if (ended.training) training.epochs.back().input_square = input_square;
  return ended;
}

}  // namespace loupe::health
