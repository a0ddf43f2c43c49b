#include "measure/measurer.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "measure/histogram.h"
#include "measure/scan.h"

namespace loupe::measure {
namespace {

constexpr uint32_t kComparing = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE;
constexpr int64_t kWorthThreads = int64_t{1} << 18;

std::atomic<ParallelFor> parallel_for_hook = nullptr;

bool measurable(const loupe_tensor& tensor) {
  return tensor.device_type == LOUPE_DEVICE_CPU && element_size(dtype_of(tensor)) > 0 &&
         tensor.dim <= Measurer::kMaxDimensions && (tensor.numel == 0 || tensor.data != nullptr);
}

/// Whether `squares`, the sum over `numel` elements, show that products with those elements vanish as floats.
template <typename T>
bool too_small(double squares, int64_t numel) {
  return std::is_same_v<T, float> && squares > 0 && squares < static_cast<double>(numel) * kSmallMeanSquare;
}

template <typename T>
struct Work {
  const Plan<T>& plan;
  Partial* partials;

  static void run(void* context, int64_t begin, int64_t end) {
    const Work& work = *static_cast<const Work*>(context);
    for (int64_t chunk = begin; chunk < end; ++chunk) work.partials[chunk] = scan_chunk(work.plan, chunk);
  }
};

/// Scans the whole tensor; `partials` has room for one result per chunk if there are several chunks.
template <typename T>
Partial scan_all(const Plan<T>& plan, int64_t chunks, Partial* partials) {
  if (chunks == 1) return scan_chunk(plan, 0);
  Work<T> work = {plan, partials};
  const ParallelFor parallel_for = parallel_for_hook.load(std::memory_order_relaxed);
  if (parallel_for != nullptr && plan.tensor.numel >= kWorthThreads) {
    parallel_for(0, chunks, 1, Work<T>::run, &work);
  } else {
    Work<T>::run(&work, 0, chunks);
  }
  for (int64_t chunk = 1; chunk < chunks; ++chunk) partials[0].append(partials[chunk]);
  return partials[0];
}

}  // namespace

Measurer::Measurer(const loupe_request& request, int64_t history) : most_kept_(history) {
  merge(request);
}

bool Measurer::accepts(const loupe_request& request) const {
  if ((asked_ & request.measures & LOUPE_MEASURE_ACTIVITY) == 0) return true;
  return request.unit_dimension == unit_dimension_ && request.eps == epsilon_;
}

void Measurer::merge(const loupe_request& request) {
  if ((asked_ & LOUPE_MEASURE_ACTIVITY) == 0) {
    unit_dimension_ = request.unit_dimension;
    epsilon_ = request.eps;
  }
  asked_ |= measured_with(request.measures);
  restrict_to(measures_ | request.measures);
}

bool Measurer::restrict_to(uint32_t measures) {
  const bool compared = wants(kComparing);
  measures_ = asked_ & measured_with(measures);
  const bool begins = wants(kComparing) && !compared;
  if (begins) forget_history();
  return begins;
}

void Measurer::forget_history() {
  history_.forget();
  last_is_event_ = false;
}

void Measurer::set_parallel_for(ParallelFor parallel_for) {
  parallel_for_hook = parallel_for;
}

size_t Measurer::bytes() const {
  return sizeof(*this) + history_.bytes() + flags_.capacity() + partials_.capacity() +
         slots_.capacity() * sizeof(uint64_t);
}

int Measurer::depth() const {
  return wants(LOUPE_MEASURE_CHANGE_PREVIOUS) ? 2 : 1;
}

bool Measurer::dense_enough(const loupe_tensor& tensor) const {
  if (!is_dense(tensor)) return false;
  // Samples must lie one after the other: dimension 0 must be the slowest.
  return !wants(LOUPE_MEASURE_SAMPLES) || tensor.dim == 0 || tensor.numel == 0 || tensor.sizes[0] == 1 ||
         tensor.strides[0] == tensor.numel / tensor.sizes[0];
}

template <typename T>
void Measurer::prime_as(const loupe_tensor& tensor, bool dense, const Sample& sample) {
  T* to = history_.to_write<T>();
  if (!sample.is_whole()) {
    for (int64_t run = 0; run < sample.runs(); ++run) {
      ElementReader<T> reader(tensor, dense, sample.place(run));
      std::copy_n(reader.next(Sample::kRun), Sample::kRun, to + run * Sample::kRun);
    }
    return;
  }
  ElementReader<T> reader(tensor, dense, 0);
  for (int64_t at = 0; at < tensor.numel; at += kBlock<T>) {
    const int64_t n = std::min(kBlock<T>, tensor.numel - at);
    std::copy_n(reader.next(n), n, to + at);
  }
}

void Measurer::prime(const loupe_tensor& tensor) {
  forget_history();
  if (!wants(kComparing) || !measurable(tensor)) return;
  const bool dense = dense_enough(tensor);
  const Sample sample(tensor.numel, most_kept_);
  history_.prepare(tensor, dense, depth(), sample.size());
  if (computes_in_double(dtype_of(tensor))) {
    prime_as<double>(tensor, dense, sample);
  } else {
    prime_as<float>(tensor, dense, sample);
  }
  history_.commit();
}

loupe_measurement Measurer::measure(const loupe_tensor& tensor) {
  loupe_measurement measurement = {};
  measurement.struct_size = sizeof(measurement);
  measurement.numel = tensor.numel;
  if (!measurable(tensor)) {
    forget_history();
    return measurement;
  }
  measurement.measures = measures_;
  const bool dense = dense_enough(tensor);
  const Sample sample(tensor.numel, wants(kComparing) ? most_kept_ : kWholeHistory);
  if (wants(kComparing)) history_.prepare(tensor, dense, depth(), sample.size());
  if (computes_in_double(dtype_of(tensor))) {
    measure_as<double>(tensor, dense, sample, measurement);
  } else {
    measure_as<float>(tensor, dense, sample, measurement);
  }
  return measurement;
}

template <typename T>
void Measurer::measure_as(const loupe_tensor& tensor, bool dense, const Sample& sample, loupe_measurement& m) {
  const int64_t chunks = std::max<int64_t>(1, (tensor.numel + kChunk - 1) / kChunk);
  Plan<T> plan = {tensor};
  plan.dense = dense;
  plan.measures = measures_;
  if (chunks > 1) partials_.reserve(static_cast<size_t>(chunks) * sizeof(Partial));
  if (wants(LOUPE_MEASURE_ACTIVITY)) {
    plan.units = unit_grid(tensor, dense, unit_dimension_);
    plan.epsilon = round_epsilon<T>(epsilon_);
    flags_.reserve(static_cast<size_t>(chunks * plan.units.flag_count) * sizeof(T));
    plan.flags = flags_.as<T>();
  }
  if (wants(LOUPE_MEASURE_SAMPLES)) plan.sample_length = tensor.dim > 0 ? elements_inside(tensor, 0) : 1;
  if (wants(LOUPE_MEASURE_HISTOGRAM)) {
    slots_.resize(std::max(slots_.size(), static_cast<size_t>(chunks) * kHistogramSlots));
    plan.slots = slots_.data();
  }
  const bool has_change = wants(LOUPE_MEASURE_CHANGE) && history_.held() > 0;
  const bool has_previous = wants(LOUPE_MEASURE_PREVIOUS) && history_.held() > 0 && last_is_event_;
  const bool has_change_before = wants(LOUPE_MEASURE_CHANGE_PREVIOUS) && history_.held() > 1;
  if (has_previous) plan.terms |= kDot;
  if (has_change) plan.terms |= kChange;
  if (has_change_before) plan.terms |= kDotChange;
  if (plan.terms != kOwnTerms) plan.last = history_.last<T>();
  if (has_change_before) plan.older = history_.older<T>();
  if (wants(kComparing)) plan.keep = history_.to_write<T>();
  if (!sample.is_whole()) plan.sample = &sample;
  plan.careful = sample.is_whole() && ((has_previous && too_small<T>(last_sum_squares_, tensor.numel)) ||
                                       (has_change_before && too_small<T>(last_change_sum_squares_, tensor.numel)));

  const Partial all = scan_all(plan, chunks, partials_.as<Partial>());

  m.nan_count = all.nan_count;
  m.inf_count = all.inf_count;
  m.sum = all.sums.sum;
  m.sum_squares = all.sums.squares;
  if (wants(LOUPE_MEASURE_EXTREMES)) {
    const bool none = all.minimum > all.maximum;
    m.minimum = none ? std::numeric_limits<double>::quiet_NaN() : all.minimum;
    m.maximum = none ? std::numeric_limits<double>::quiet_NaN() : all.maximum;
  }
  if (wants(LOUPE_MEASURE_ACTIVITY)) {
    m.active_count = all.active;
    m.unit_count = plan.units.units;
    m.dead_unit_count = count_dead(plan.units, all.active, plan.flags, chunks);
  }
  if (wants(LOUPE_MEASURE_SAMPLES)) {
    m.sample_count = tensor.dim > 0 ? tensor.sizes[0] : 1;
    m.sample_norm_sum = all.samples.total();
  }
  if (wants(LOUPE_MEASURE_HISTOGRAM)) {
    for (int64_t i = kHistogramSlots; i < chunks * kHistogramSlots; ++i) {
      plan.slots[i % kHistogramSlots] += plan.slots[i];
    }
    m.bins = plan.slots;
    m.bin_edges = histogram_edges();
    m.bin_count = kHistogramBins;
  }
  if (has_previous) m.flags |= LOUPE_MEASUREMENT_HAS_PREVIOUS;
  m.dot_previous = all.sums.dot;
  m.previous_sum_squares = has_previous ? last_sum_squares_ : 0;
  if (has_change) m.flags |= LOUPE_MEASUREMENT_HAS_CHANGE;
  m.change_sum_squares = all.sums.change_squares;
  m.dot_change = all.sums.dot_change;
  m.previous_change_sum_squares = has_change_before ? last_change_sum_squares_ : 0;
  if (!sample.is_whole()) {
    m.dot_previous = all.sampled.dot;
    m.change_sum_squares = all.sampled.change_squares;
    m.dot_change = all.sampled.dot_change;
    estimate_whole(m, sample.size(), all.sampled.squares, last_sampled_squares_, last_sum_squares_);
    last_sampled_squares_ = all.sampled.squares;
  }
  if (wants(kComparing)) history_.commit();
  last_is_event_ = true;
  last_sum_squares_ = m.sum_squares;
  last_change_sum_squares_ = m.change_sum_squares;
}

}  // namespace loupe::measure
