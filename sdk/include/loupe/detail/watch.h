#pragma once

#include <loupe/detail/option_values.h>
#include <loupe/preprocessor.h>

#include <utility>

namespace loupe {
inline namespace v1_0 {

/// What a lens requests from a module: a gatherer, and what is behind it. The texts are borrowed for the call.
///
///     Watch("forward").preprocessor("output_activation", {{"eps", 1e-6}})
///     Watch("step_gradient").label("weight").measure(LOUPE_MEASURE_SUMS)
class Watch {
 public:
  /// @param gatherer  its name; `loupe list` shows all  @param options  its options
  Watch(const char* gatherer, OptionValues options = {}) : gatherer_(gatherer), gatherer_options_(std::move(options)) {}

  /// The parameter or attribute, for a gatherer that needs one; null for none.
  Watch& label(const char* name) {
    label_ = name;
    return *this;
  }
  /// A preprocessor by its name.
  Watch& preprocessor(const char* name, OptionValues options = {}) {
    preprocessor_ = name;
    preprocessor_options_ = std::move(options);
    return *this;
  }
  /// The measures for a function: LOUPE_MEASURE_ bits. Without any, the function gets the tensor.
  /// @param eps  for ACTIVITY: the largest absolute value that counts as silent  @param unit_dimension  the dimension
  /// that counts units
  Watch& measure(uint32_t measures, double eps = 1e-8, int unit_dimension = 1) {
    measures_ = measures;
    eps_ = eps;
    unit_dimension_ = unit_dimension;
    return *this;
  }

  const char* gatherer() const { return gatherer_; }
  const OptionValues& gatherer_options() const { return gatherer_options_; }
  const char* label() const { return label_; }
  const char* preprocessor() const { return preprocessor_; }
  const OptionValues& preprocessor_options() const { return preprocessor_options_; }
  /// The request of a function behind it.
  Request request() const {
    Request request;
    request.measures = measures_;
    request.wants_tensor = measures_ == 0;
    request.eps = eps_;
    request.unit_dimension = unit_dimension_;
    return request;
  }

 private:
  const char* gatherer_;
  OptionValues gatherer_options_;
  const char* label_ = nullptr;
  const char* preprocessor_ = nullptr;
  OptionValues preprocessor_options_;
  uint32_t measures_ = 0;
  double eps_ = 1e-8;
  int unit_dimension_ = 1;
};

}  // namespace v1_0
}  // namespace loupe
