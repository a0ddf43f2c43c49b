#pragma once

#include <loupe/detail/series_reading.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "component.h"
#include "measure/measurer.h"
#include "tensor.h"

namespace loupe::test {

inline constexpr uint32_t kTraining = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
inline constexpr uint32_t kEvaluation = 0;

/// One preprocessor on one stream, fed as the host feeds it: filtered by pass, and measured as it asked.
class PreprocessorStream {
 public:
  explicit PreprocessorStream(const std::string& preprocessor, const std::string& yaml = "{}");
  PreprocessorStream(const std::string& preprocessor, const loupe_options* options);

  /// Returns whether the preprocessor wanted the event. Throws Error when it fails.
  bool feed(const Tensor& tensor, uint32_t flags = kTraining);
  bool feed(loupe_event event);
  void push(const char* label, double value, uint32_t flags = 0);
  void prime(const Tensor& tensor);
  void reset() {
    detail::ErrorBuffer error;
    error.check(table().reset(instance_->self(), error.get()));
  }

  /// Nullopt when the series does not exist or has no values. Throws Error for a quantile that is not kept.
  std::optional<double> get(const std::string& series, Aggregate aggregate = Aggregate::mean) const;
  /// What `inplace: false` kept, in the order it came.
  std::vector<double> values(const std::string& series) const;
  std::vector<std::string> series() const;

  const loupe_request& request() const { return request_; }
  const Instance& instance() const { return *instance_; }

 private:
  PreprocessorStream(const loupe_component& component, const ComponentOptions& options);
  const loupe_preprocessor& table() const { return instance_->table<loupe_preprocessor>(); }
  std::optional<size_t> index(const std::string& series) const;

  std::unique_ptr<Instance> instance_;
  loupe_request request_{};
  std::unique_ptr<measure::Measurer> measurer_;
  uint64_t number_ = 0;
};

}  // namespace loupe::test
