#pragma once

#include <loupe/plugin.h>

#include <atomic>
#include <cstdint>

namespace loupe {

/// How many samples a module was given in training since the last reset, by the size of its first input.
class SampleCount : public Preprocessor {
 public:
  /// @param dimension of a batch that counts its samples
  explicit SampleCount(int64_t dimension) : dimension_(dimension) {}

  Request request() const override {
    Request request;
    request.passes = LOUPE_PASS_TRAINING;
    request.wants_tensor = true;  // its sizes; nothing is read or waited for
    return request;
  }
  void process(const Event& event) override {
    const TensorView tensor = event.tensor();
    if (!tensor || !event.grad_enabled()) return;
    events_.fetch_add(1, std::memory_order_relaxed);
    if (tensor.raw()->dim > dimension_)
      samples_.fetch_add(static_cast<uint64_t>(tensor.raw()->sizes[dimension_]), std::memory_order_relaxed);
  }
  void reset() override { events_ = samples_ = 0; }

  // At a tick, while other threads may run the model.
  uint64_t events() const { return events_.load(std::memory_order_relaxed); }
  uint64_t samples() const { return samples_.load(std::memory_order_relaxed); }

 private:
  int64_t dimension_;
  std::atomic<uint64_t> events_{0}, samples_{0};
};

}  // namespace loupe
