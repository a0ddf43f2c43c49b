#pragma once

#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace loupe {

/// The norm of all gradients of one model together, step by step: the parameters' sums of squares come one by one, and
/// are complete when one comes again or for another step. Any thread.
class GradientTotal {
 public:
  /// @param round  the parameter's own: in which sum it is already
  void add(uint64_t step, uint64_t& round, double squares) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_open_ && (step != step_ || round == round_)) close();
    if (!is_open_) ++round_;
    is_open_ = true;
    step_ = step;
    round = round_;
    sum_ += squares;
  }
  /// Of a device, whose numbers come at the tick, all of one parameter after the other. @param index of its steps
  void add_late(std::size_t index, double squares) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (late_.size() <= index) late_.resize(index + 1, 0);
    late_[index] += squares;
  }

  /// The norms of the steps since the last call; NaN and infinite ones are counted.
  Series take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_open_) close();
    for (const double sum : late_) norms_.push(std::sqrt(sum));
    late_.clear();
    Series taken = norms_;
    norms_.reset();
    return taken;
  }

 private:
  void close() {
    norms_.push(std::sqrt(sum_));
    sum_ = 0;
    is_open_ = false;
  }

  std::mutex mutex_;
  bool is_open_ = false;
  uint64_t step_ = 0, round_ = 0;
  double sum_ = 0;
  Series norms_;
  std::vector<double> late_;
};

/// One parameter's part in it.
class GradientPart : public Preprocessor {
 public:
  explicit GradientPart(GradientTotal& total) : total_(&total) {}

  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    return request;
  }
  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement(LOUPE_MEASURE_SUMS);
    const double squares = measurement.nan_count != 0   ? NAN
                           : measurement.inf_count != 0 ? INFINITY
                                                        : measurement.sum_squares;
    if ((event.raw()->flags & LOUPE_EVENT_DEFERRED) != 0) {
      total_->add_late(late_++, squares);
    } else {
      total_->add(event.step(), round_, squares);
    }
  }
  void reset() override { late_ = 0; }

 private:
  GradientTotal* total_;
  uint64_t round_ = 0;
  std::size_t late_ = 0;
};

}  // namespace loupe
