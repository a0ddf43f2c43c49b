#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "loupe/abi.h"
#include "tensor.h"

namespace loupe::measure {

/// Measures as plainly as possible, all in double and with every element in row-major order, to compare with.
class Reference {
 public:
  Reference(int32_t unit_dimension, double epsilon) : unit_dimension_(unit_dimension), epsilon_(epsilon) {}

  void prime(const TestTensor& tensor);
  const loupe_measurement& measure(const TestTensor& tensor);

  /// The same sums with every term's absolute value: what rounding errors are proportional to.
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

/// How a measure is compared with the reference, a row each.
struct Compared {
  uint32_t measure;
  void (*expect_same)(const loupe_measurement& measured, const Reference& reference, const loupe_measurement& expected);
};
const std::vector<Compared>& compared();

/// Fails the running test where what was measured differs from the reference by more than rounding.
void expect_same(const loupe_measurement& measured, const Reference& reference, const loupe_measurement& expected);

}  // namespace loupe::measure
