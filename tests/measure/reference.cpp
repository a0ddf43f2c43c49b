#include "reference.h"

#include <gtest/gtest.h>
#include <loupe/event.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace loupe::measure {

void Reference::prime(const TestTensor& tensor) {
  last_ = tensor.values();
  older_.reset();
  last_is_event_ = false;
}

const loupe_measurement& Reference::measure(const TestTensor& tensor) {
  const std::vector<double> x = tensor.values();
  m_ = {};
  magnitudes_ = {};
  m_.numel = static_cast<int64_t>(x.size());
  sum_up(x);
  count_units(tensor, x);
  add_norms(tensor, x);
  fill_bins(x);
  if (last_ && last_->size() != x.size()) {
    last_.reset();
    older_.reset();
  }
  compare(x);
  older_ = std::move(last_);
  last_ = x;
  last_is_event_ = true;
  last_squares_ = m_.sum_squares;
  last_change_squares_ = m_.change_sum_squares;
  return m_;
}

void Reference::sum_up(const std::vector<double>& x) {
  m_.minimum = std::numeric_limits<double>::quiet_NaN();
  m_.maximum = m_.minimum;
  for (const double value : x) {
    if (std::isnan(value)) ++m_.nan_count;
    if (std::isinf(value)) ++m_.inf_count;
    if (!std::isfinite(value)) continue;
    m_.sum += value;
    magnitudes_.sum += std::abs(value);
    m_.sum_squares += value * value;
    m_.minimum = std::fmin(m_.minimum, value);
    m_.maximum = std::fmax(m_.maximum, value);
  }
}

void Reference::count_units(const TestTensor& tensor, const std::vector<double>& x) {
  if (x.empty()) return;
  const loupe_tensor& view = tensor.view();
  const int64_t wanted = unit_dimension_ < 0 ? unit_dimension_ + view.dim : unit_dimension_;
  const int64_t d = std::max<int64_t>(0, std::min(wanted, view.dim - 1));
  m_.unit_count = view.dim == 0 ? 1 : view.sizes[d];
  int64_t inner = 1;
  for (int64_t i = d + 1; i < view.dim; ++i) inner *= view.sizes[i];
  std::vector<bool> alive(static_cast<size_t>(m_.unit_count));
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::abs(x[i]) <= epsilon_) continue;
    ++m_.active_count;
    alive[i / static_cast<size_t>(inner) % alive.size()] = true;
  }
  m_.dead_unit_count = std::count(alive.begin(), alive.end(), false);
}

void Reference::add_norms(const TestTensor& tensor, const std::vector<double>& x) {
  const loupe_tensor& view = tensor.view();
  m_.sample_count = view.dim == 0 ? 1 : view.sizes[0];
  if (x.empty()) return;
  const size_t length = x.size() / static_cast<size_t>(m_.sample_count);
  for (size_t sample = 0; sample < x.size(); sample += length) {
    double squares = 0;
    for (size_t i = sample; i < sample + length; ++i) squares += std::isfinite(x[i]) ? x[i] * x[i] : 0;
    m_.sample_norm_sum += std::sqrt(squares);
  }
}

void Reference::fill_bins(const std::vector<double>& x) {
  bins_.fill(0);
  const auto smallest_normal = static_cast<double>(std::numeric_limits<float>::min());
  for (const double value : x) {
    if (!std::isfinite(value)) continue;
    size_t bin = 80;
    if (std::abs(value) >= smallest_normal) {
      const auto magnitude = static_cast<size_t>(std::clamp(std::floor(std::log2(std::abs(value))), -40.0, 39.0) + 40);
      bin = value < 0 ? 79 - magnitude : 81 + magnitude;
    }
    ++bins_[bin];
  }
  m_.bins = bins_.data();
}

void Reference::compare(const std::vector<double>& x) {
  if (!last_) return;
  m_.flags |= LOUPE_MEASUREMENT_HAS_CHANGE;
  if (last_is_event_) m_.flags |= LOUPE_MEASUREMENT_HAS_PREVIOUS;
  if (last_is_event_) m_.previous_sum_squares = last_squares_;
  if (older_) m_.previous_change_sum_squares = last_change_squares_;
  for (size_t i = 0; i < x.size(); ++i) {
    const double last = (*last_)[i];
    if (!std::isfinite(x[i]) || !std::isfinite(last)) continue;
    const double change = x[i] - last;
    m_.change_sum_squares += change * change;
    if (last_is_event_) {
      m_.dot_previous += x[i] * last;
      magnitudes_.dot_previous += std::abs(x[i] * last);
    }
    if (older_ && std::isfinite((*older_)[i])) {
      const double product = change * (last - (*older_)[i]);
      m_.dot_change += product;
      magnitudes_.dot_change += std::abs(product);
    }
  }
}

namespace {

void expect_near(const char* what, double actual, double wanted, double magnitude) {
  constexpr double kRounding = 5e-6;  // the rounding error of a sum of floats in one lane, on the simplest CPUs
  EXPECT_LE(std::abs(actual - wanted), kRounding * magnitude) << what << ": " << actual << ", not " << wanted;
}

void expect_identical(const char* what, double actual, double wanted) {
  EXPECT_TRUE(actual == wanted || (std::isnan(actual) && std::isnan(wanted)))
      << what << ": " << actual << ", not " << wanted;
}

using Measured = const loupe_measurement&;

}  // namespace

const std::vector<Compared>& compared() {
  static const auto& rows = *new std::vector<Compared>{
      {LOUPE_MEASURE_SUMS,
       [](Measured m, const Reference& reference, Measured expected) {
         expect_near("sum", m.sum, expected.sum, reference.magnitudes().sum);
         expect_near("sum_squares", m.sum_squares, expected.sum_squares, expected.sum_squares);
       }},
      {LOUPE_MEASURE_EXTREMES,
       [](Measured m, const Reference&, Measured expected) {
         expect_identical("minimum", m.minimum, expected.minimum);
         expect_identical("maximum", m.maximum, expected.maximum);
       }},
      {LOUPE_MEASURE_ACTIVITY,
       [](Measured m, const Reference&, Measured expected) {
         EXPECT_EQ(m.active_count, expected.active_count);
         EXPECT_EQ(m.unit_count, expected.unit_count);
         EXPECT_EQ(m.dead_unit_count, expected.dead_unit_count);
       }},
      {LOUPE_MEASURE_SAMPLES,
       [](Measured m, const Reference&, Measured expected) {
         EXPECT_EQ(m.sample_count, expected.sample_count);
         expect_near("sample_norm_sum", m.sample_norm_sum, expected.sample_norm_sum, expected.sample_norm_sum);
       }},
      {LOUPE_MEASURE_PREVIOUS,
       [](Measured m, const Reference& reference, Measured expected) {
         EXPECT_EQ(has_previous(m), has_previous(expected));
         expect_near("dot_previous", m.dot_previous, expected.dot_previous, reference.magnitudes().dot_previous);
         expect_near("previous_sum_squares", m.previous_sum_squares, expected.previous_sum_squares,
                     expected.previous_sum_squares);
       }},
      {LOUPE_MEASURE_CHANGE,
       [](Measured m, const Reference&, Measured expected) {
         EXPECT_EQ(has_change(m), has_change(expected));
         expect_near("change_sum_squares", m.change_sum_squares, expected.change_sum_squares,
                     expected.change_sum_squares);
       }},
      {LOUPE_MEASURE_CHANGE_PREVIOUS,
       [](Measured m, const Reference& reference, Measured expected) {
         expect_near("dot_change", m.dot_change, expected.dot_change, reference.magnitudes().dot_change);
         expect_near("previous_change_sum_squares", m.previous_change_sum_squares, expected.previous_change_sum_squares,
                     expected.previous_change_sum_squares);
       }},
      {LOUPE_MEASURE_HISTOGRAM, [](Measured m, const Reference&, Measured expected) {
         ASSERT_EQ(m.bin_count, size_t{161});
         for (int bin = 0; bin < 161; ++bin) EXPECT_EQ(m.bins[bin], expected.bins[bin]) << "bin " << bin;
       }}};
  return rows;
}

void expect_same(const loupe_measurement& m, const Reference& reference, const loupe_measurement& expected) {
  EXPECT_EQ(m.numel, expected.numel);
  EXPECT_EQ(m.nan_count, expected.nan_count);
  EXPECT_EQ(m.inf_count, expected.inf_count);
  for (const Compared& each : compared()) {
    if ((m.measures & each.measure) != 0) each.expect_same(m, reference, expected);
  }
}

}  // namespace loupe::measure
