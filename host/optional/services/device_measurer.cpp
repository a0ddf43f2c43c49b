#include "services/device_measurer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/histogram.h"
#include "measure/history.h"
#include "measure/measurer.h"
#include "torch/tensor/compat.h"

namespace loupe {
namespace {

// The columns of a row of results.
enum Column {
  nan_column,
  inf_column,
  sum_column,
  squares_column,
  minimum_column,
  maximum_column,
  active_column,
  dead_column,
  samples_column,
  dot_column,
  change_column,
  change_dot_column,
  sampled_squares_column,
  column_count
};

constexpr int64_t first_capacity = 256;

class AtenMeasurer final : public DeviceMeasurer {
 public:
  AtenMeasurer(const loupe_request& request, int64_t history) : request_(request), history_(history) {
    request_.measures = measure::measured_with(request.measures);
  }

  void prime(const loupe_tensor& tensor) override {
    const at::NoGradGuard no_grad;
    last_ = compared_part(plain(tensor).flatten()).clone();
    change_ = at::Tensor();
  }

  void forget() override { previous_ = last_ = change_ = at::Tensor(); }

  void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) override {
    const at::NoGradGuard no_grad;
    const at::Tensor raw = plain(tensor);
    make_room(raw);
    const at::Tensor row = results_.select(0, static_cast<int64_t>(events_.size()));
    Event event{flags, number, raw.numel(), 0, 0, raw.numel(), false, false};
    set(row, nan_column, raw.isnan().sum());
    set(row, inf_column, raw.isinf().sum());
    const at::Tensor values = raw.nan_to_num(0.0, 0.0, 0.0);
    const at::Tensor flat = values.flatten();
    if (wants(LOUPE_MEASURE_SUMS | LOUPE_MEASURE_PREVIOUS)) {
      set(row, sum_column, flat.sum());
      set(row, squares_column, flat.dot(flat));
    }
    if (wants(LOUPE_MEASURE_EXTREMES) && flat.numel() > 0) {
      // The extremes also ignore elements that are not finite.
      set(row, minimum_column, raw.nan_to_num(INFINITY, INFINITY, INFINITY).min());
      set(row, maximum_column, raw.nan_to_num(-INFINITY, -INFINITY, -INFINITY).max());
    }
    if (wants(LOUPE_MEASURE_ACTIVITY)) measure_activity(raw, row, event);
    if (wants(LOUPE_MEASURE_SAMPLES)) {
      event.samples = values.dim() == 0 ? 1 : values.size(0);
      if (flat.numel() > 0) set(row, samples_column, values.reshape({event.samples, -1}).norm(2, 1).sum());
    }
    if (wants(LOUPE_MEASURE_PREVIOUS)) compare_with_previous(flat, row, event);
    if (wants(LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS)) compare_with_last(raw.flatten(), row, event);
    if (wants(LOUPE_MEASURE_HISTOGRAM)) measure_histogram(raw);
    events_.push_back(event);
  }

  void collect(const Deliver& deliver) override {
    if (events_.empty()) return;
    const auto count = static_cast<int64_t>(events_.size());
    const at::Tensor rows = results_.narrow(0, 0, count).to(at::kCPU, at::kDouble).contiguous();
    at::Tensor bins;
    if (wants(LOUPE_MEASURE_HISTOGRAM)) bins = bins_.narrow(0, 0, count).to(at::kCPU, at::kLong).contiguous();
    for (int64_t i = 0; i < count; ++i) {
      const loupe_measurement measurement =
          read(events_[static_cast<std::size_t>(i)], rows.data_ptr<double>() + i * column_count,
               bins.defined() ? bins.data_ptr<int64_t>() + i * measure::kHistogramSlots : nullptr);
      deliver(measurement, events_[static_cast<std::size_t>(i)].flags, events_[static_cast<std::size_t>(i)].number);
    }
    events_.clear();
  }

 private:
  struct Event {
    uint32_t flags;
    uint64_t number;
    int64_t numel, units, samples, compared;
    bool has_previous, has_change;
  };

  bool wants(uint32_t measures) const { return (request_.measures & measures) != 0; }

  static at::Tensor plain(const loupe_tensor& tensor) {
    const at::Tensor native = static_cast<const at::Tensor*>(tensor.native)->detach();
    const bool wide = native.scalar_type() == at::kFloat || native.scalar_type() == at::kDouble;
    return wide ? native : native.to(at::kFloat);
  }

  static void set(const at::Tensor& row, Column column, const at::Tensor& value) { row.select(0, column).copy_(value); }

  /// Doubles the rows when all are used; after the first epoch there are enough.
  void make_room(const at::Tensor& like) {
    const auto used = static_cast<int64_t>(events_.size());
    if (results_.defined() && used < results_.size(0) && results_.device() == like.device()) return;
    const int64_t capacity = std::max(first_capacity, 2 * used);
    const at::TensorOptions options = like.options();
    const auto grow = [&](at::Tensor& table, int64_t columns, at::ScalarType type) {
      at::Tensor next = at::zeros({capacity, columns}, options.dtype(type));
      if (table.defined() && used > 0) next.narrow(0, 0, used).copy_(table.narrow(0, 0, used));
      table = next;
    };
    // Not every device has float64.
    grow(results_, column_count, like.is_cpu() || like.is_cuda() ? at::kDouble : at::kFloat);
    if (wants(LOUPE_MEASURE_HISTOGRAM)) grow(bins_, measure::kHistogramSlots, at::kLong);
    events_.reserve(static_cast<std::size_t>(capacity));
  }

  void measure_activity(const at::Tensor& raw, const at::Tensor& row, Event& event) const {
    // NaN is not larger than any number, but counts as active.
    const at::Tensor active = raw.abs().le(request_.eps).logical_not();
    set(row, active_column, active.sum());
    if (raw.numel() == 0) return;
    if (raw.dim() == 0) {
      event.units = 1;
      set(row, dead_column, active.logical_not().sum());
      return;
    }
    int64_t unit = request_.unit_dimension < 0 ? request_.unit_dimension + raw.dim() : request_.unit_dimension;
    unit = std::clamp<int64_t>(unit, 0, raw.dim() - 1);
    event.units = raw.size(unit);
    set(row, dead_column, active.transpose(0, unit).reshape({event.units, -1}).any(1).logical_not().sum());
  }

  /// The elements of a tensor that are compared with earlier ones. Forgets earlier tensors of another size.
  at::Tensor compared_part(const at::Tensor& flat) {
    const measure::Sample sample(flat.numel(), history_);
    if (flat.numel() != compared_numel_) {
      forget();
      runs_ = at::Tensor();
      compared_numel_ = flat.numel();
    }
    if (sample.is_whole()) return flat;
    if (!runs_.defined() || runs_.device() != flat.device()) {
      const at::Tensor runs = at::empty({sample.runs()}, at::kLong);
      for (int64_t run = 0; run < sample.runs(); ++run)
        runs.data_ptr<int64_t>()[run] = sample.place(run) / measure::Sample::kRun;
      runs_ = runs.to(flat.device(), /*non_blocking=*/true);
    }
    const int64_t blocks = flat.numel() / measure::Sample::kRun;
    const at::Tensor rows = flat.narrow(0, 0, blocks * measure::Sample::kRun).view({blocks, measure::Sample::kRun});
    return rows.index_select(0, runs_).flatten();
  }

  static bool comparable(const at::Tensor& kept, const at::Tensor& flat) {
    return kept.defined() && kept.sizes() == flat.sizes() && kept.scalar_type() == flat.scalar_type() &&
           kept.device() == flat.device();
  }

  void compare_with_previous(const at::Tensor& all, const at::Tensor& row, Event& event) {
    const at::Tensor flat = compared_part(all);
    event.compared = flat.numel();
    if (flat.numel() < all.numel()) set(row, sampled_squares_column, flat.dot(flat));
    event.has_previous = comparable(previous_, flat);
    if (event.has_previous) {
      set(row, dot_column, flat.dot(previous_));
      previous_.copy_(flat);
    } else {
      previous_ = flat.clone();
    }
  }

  void compare_with_last(const at::Tensor& all, const at::Tensor& row, Event& event) {
    const at::Tensor flat = compared_part(all);
    event.compared = flat.numel();
    event.has_change = comparable(last_, flat);
    if (!event.has_change) {
      last_ = flat.clone();
      change_ = at::Tensor();
      return;
    }
    // A pair counts if both elements are finite.
    const at::Tensor now = last_.neg_().add_(flat).nan_to_num(0.0, 0.0, 0.0);
    set(row, change_column, now.dot(now));
    if (change_.defined()) {
      set(row, change_dot_column, now.dot(change_));
      change_.copy_(now);
    } else if (wants(LOUPE_MEASURE_CHANGE_PREVIOUS)) {
      change_ = now.clone();
      row.select(0, change_dot_column).zero_();
    }
    last_.copy_(flat);
  }

  void measure_histogram(const at::Tensor& raw) {
    const at::Tensor flat = raw.flatten().to(at::kFloat);
    const at::Tensor magnitude = flat.abs();
    const at::Tensor distance = magnitude.log2().floor().clamp(-40, 39).add(41);  // from the bin of zeros
    constexpr int zeros = measure::kHistogramBins / 2;
    at::Tensor index = at::where(flat < 0, zeros - distance, zeros + distance);
    index = at::where(magnitude < 1.1754943508222875e-38, at::full_like(index, zeros), index);
    index = at::where(flat.isfinite(), index, at::full_like(index, measure::kHistogramBins));
    const at::Tensor bins = bins_.select(0, static_cast<int64_t>(events_.size())).zero_();
    const at::Tensor where = index.to(at::kLong);
    bins.scatter_add_(0, where, at::ones_like(where));
  }

  loupe_measurement read(const Event& event, const double* row, const int64_t* bins) {
    loupe_measurement measurement{};
    measurement.struct_size = sizeof measurement;
    measurement.measures = request_.measures;
    measurement.numel = event.numel;
    measurement.nan_count = std::llround(row[nan_column]);
    measurement.inf_count = std::llround(row[inf_column]);
    measurement.sum = row[sum_column];
    measurement.sum_squares = row[squares_column];
    const bool any = event.numel > measurement.nan_count + measurement.inf_count;
    measurement.minimum = any ? row[minimum_column] : NAN;
    measurement.maximum = any ? row[maximum_column] : NAN;
    measurement.active_count = std::llround(row[active_column]);
    measurement.unit_count = event.units;
    measurement.dead_unit_count = event.numel == 0 ? 0 : std::llround(row[dead_column]);
    measurement.sample_count = event.samples;
    measurement.sample_norm_sum = event.numel == 0 ? 0 : row[samples_column];
    if (event.has_previous) measurement.flags |= LOUPE_MEASUREMENT_HAS_PREVIOUS;
    measurement.dot_previous = event.has_previous ? row[dot_column] : 0;
    measurement.previous_sum_squares = event.has_previous ? previous_squares_ : 0;
    if (event.has_change) measurement.flags |= LOUPE_MEASUREMENT_HAS_CHANGE;
    measurement.change_sum_squares = event.has_change ? row[change_column] : 0;
    const bool follows = event.has_change && had_change_;
    measurement.dot_change = follows ? row[change_dot_column] : 0;
    measurement.previous_change_sum_squares = follows ? previous_change_squares_ : 0;
    if (event.compared < event.numel) {
      const double squares = row[sampled_squares_column];
      measure::estimate_whole(measurement, event.compared, squares, previous_sampled_squares_, previous_squares_);
      previous_sampled_squares_ = squares;
    }
    if (bins != nullptr) {
      std::copy_n(bins, measure::kHistogramBins, histogram_.begin());
      measurement.bins = histogram_.data();
      measurement.bin_edges = measure::histogram_edges();
      measurement.bin_count = measure::kHistogramBins;
    }
    previous_squares_ = measurement.sum_squares;
    previous_change_squares_ = measurement.change_sum_squares;
    had_change_ = event.has_change;
    return measurement;
  }

  loupe_request request_;
  int64_t history_;
  int64_t compared_numel_ = -1;  ///< the size of the tensors that are compared
  at::Tensor runs_;              ///< the compared runs of their elements, unless all are compared; on the device
  double previous_sampled_squares_ = 0;
  at::Tensor results_, bins_;  // {capacity, columns}, on the device
  at::Tensor previous_, last_, change_;
  std::vector<Event> events_;
  double previous_squares_ = 0, previous_change_squares_ = 0;
  bool had_change_ = false;
  std::array<uint64_t, measure::kHistogramBins> histogram_{};
};

}  // namespace

std::unique_ptr<DeviceMeasurer> make_device_measurer(const loupe_request& request, int64_t history) {
  return std::make_unique<AtenMeasurer>(request, history);
}

}  // namespace loupe
