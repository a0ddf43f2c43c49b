#pragma once

#include <loupe/preprocessor.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// Takes several numbers of one event, each into the series of its name. Only the first number of a name allocates.
class Numbers {
 public:
  virtual ~Numbers() = default;
  void push(const char* name, double value) { series(name, 0, false).push(value); }
  /// The same for numbered series, from 0: push("head", 3, x) goes into "head 3".
  void push(const char* name, std::size_t index, double value) { series(name, index, true).push(value); }

 private:
  virtual Series& add(std::string name) = 0;
  Series& series(const char* name, std::size_t index, bool is_indexed) {
    Row* row = nullptr;
    for (Row& known : rows_) {
      if (known.is_indexed == is_indexed && known.name == name) row = &known;
    }
    if (row == nullptr) row = &rows_.emplace_back(Row{name, is_indexed, {}});
    while (row->series.size() <= index) {
      const std::string number = is_indexed ? " " + std::to_string(row->series.size()) : "";
      row->series.push_back(&add(row->name + number));
    }
    return *row->series[index];
  }

  struct Row {
    std::string name;
    bool is_indexed;
    std::vector<Series*> series;
  };
  std::vector<Row> rows_;
};

/// A preprocessor that calls `Function` with each event. It takes the event and gives a number, or an optional one,
/// which goes into the series "value"; or it takes the event and Numbers. Empty tensors and those that cannot be
/// measured are skipped; without measures, tensors on a device too. If measures were requested for one number, an event
/// with NaN or Inf gives NaN or Inf.
template <class Function>
class FunctionPreprocessor final : public Preprocessor, private Numbers {
 public:
  FunctionPreprocessor(const Request& request, Function function, Series::Keep keep, std::atomic<bool>* met_device)
      : request_(request), function_(std::move(function)), keep_(keep), met_device_(met_device) {
    if constexpr (gives_one) value_ = &add_series("value", keep);
  }

  Request request() const override { return request_; }
  void process(const Event& event) override {
    if (request_.measures != 0) {
      if (!event.has_measurement()) return;
      const Measurement& measured = event.measurement();
      if ((measured.measures & request_.measures) != request_.measures || measured.numel == 0) return;
      // A number from only the finite elements would look valid but would not be.
      if (gives_one && measured.nan_count + measured.inf_count > 0)
        return value_->push(measured.nan_count > 0 ? NAN : INFINITY);
    } else if (event.tap() != LOUPE_TAP_PUSH) {
      const TensorView tensor = event.tensor();
      if (!tensor || tensor.numel() == 0) return;
      if (!tensor.is_cpu()) {
        if (met_device_ != nullptr) met_device_->store(true, std::memory_order_relaxed);
        return;
      }
    }
    if constexpr (gives_one) {
      push_one(function_(event));
    } else {
      function_(event, static_cast<Numbers&>(*this));
    }
  }

 private:
  static constexpr bool gives_one = std::is_invocable_v<Function&, const Event&>;
  static_assert(gives_one || std::is_invocable_v<Function&, const Event&, Numbers&>,
                "a function takes (const loupe::Event&) and returns a number, or also takes loupe::Numbers&");

  template <class Number>
  void push_one(const std::optional<Number>& number) {
    if (number) value_->push(static_cast<double>(*number));
  }
  template <class Number>
  void push_one(Number number) {
    static_assert(std::is_arithmetic_v<Number>, "a function returns a number or an optional number");
    value_->push(static_cast<double>(number));
  }
  Series& add(std::string name) override { return add_series(std::move(name), keep_); }

  Request request_;
  Function function_;
  Series::Keep keep_;
  std::atomic<bool>* met_device_;
  Series* value_ = nullptr;
};

/// A preprocessor made from a function, for Lens::watch: preprocessor_of(watched.request(), [](const loupe::Event&
/// event) { … }).
/// @param met_device  becomes true if tensors were skipped because they are on a device; may be null
template <class Function>
std::unique_ptr<Preprocessor> preprocessor_of(const Request& request, Function function,
                                              Series::Keep keep = Series::Keep::running,
                                              std::atomic<bool>* met_device = nullptr) {
  return std::make_unique<FunctionPreprocessor<Function>>(request, std::move(function), keep, met_device);
}

}  // namespace v1_0
}  // namespace loupe
