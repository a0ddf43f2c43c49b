#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "loupe/abi.h"
#include "tensor.h"

namespace loupe::measure {

/// A simple implementation for comparison. It computes in double, element by element in row-major order.
class Reference {
 public:
  Reference(int32_t unit_dimension, double epsilon) : unit_dimension_(unit_dimension), epsilon_(epsilon) {}

  void prime(const TestTensor& tensor);
  const loupe_measurement& measure(const TestTensor& tensor);

  /// The same sums over absolute values. Rounding errors are proportional to these.
  const loupe_measurement& magnitudes() const { return magnitudes_; }

 private:
  void sum_up(const std::vector<double>& x);
  void count_units(const TestTensor& tensor, const std::vector<double>& x);
  void add_norms(const TestTensor& tensor, const std::vector<double>& x);
  void fill_bins(const std::vector<double>& x);
  void compare(const std::vector<double>& x);

  int32_t unit_dimension_;
  double epsilon_;
  std::optional<std::vector<double>> last_;
  std::optional<std::vector<double>> older_;
  bool last_is_event_ = false;
  double last_squares_ = 0;
  double last_change_squares_ = 0;
  loupe_measurement m_ = {};
  loupe_measurement magnitudes_ = {};
  std::array<uint64_t, 161> bins_ = {};
};

/// A row of compared(): how to compare one measure with the reference.
struct Compared {
  uint32_t measure;
  void (*expect_same)(const loupe_measurement& measured, const Reference& reference, const loupe_measurement& expected);
};
const std::vector<Compared>& compared();

/// Fails the running test if a measurement differs from the reference by more than rounding.
void expect_same(const loupe_measurement& measured, const Reference& reference, const loupe_measurement& expected);

}  // namespace loupe::measure
