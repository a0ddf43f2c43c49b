#include <gtest/gtest.h>
#include <loupe/event.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "measure/kernels.h"
#include "measure/measurer.h"
#include "paths.h"
#include "reference.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

/// Measures three different tensors of this kind in turn, and compares each with the reference.
void check(Dtype dtype, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides = {}, int64_t offset = 0,
           int32_t unit_dimension = 1, double epsilon = 0.2) {
  Measurer measurer(request(kEveryMeasure, unit_dimension, epsilon));
  Reference reference(unit_dimension, epsilon);
  for (unsigned event = 0; event < 3; ++event) {
    SCOPED_TRACE(testing::Message() << "dtype " << dtype << ", offset " << offset << ", unit dimension "
                                    << unit_dimension << ", event " << event);
    TestTensor tensor(dtype, sizes, strides, offset);
    tensor.fill_random(event + 1);
    const loupe_measurement& measured = measurer.measure(tensor);
    EXPECT_EQ(measured.struct_size, sizeof(measured));
    EXPECT_EQ(measured.measures, kEveryMeasure);
    expect_same(measured, reference, reference.measure(tensor));
  }
}

TEST(Measurer, MeasuresEveryDtype) {
  for (const Dtype dtype : kEveryDtype) check(dtype, {30, 170});
}

TEST(Measurer, MeasuresEveryTailLength) {
  for (const Dtype dtype : kEveryDtype) {
    for (int64_t n = 0; n <= 130; ++n) {
      SCOPED_TRACE(n);
      check(dtype, {n});
    }
  }
}

TEST(Measurer, MeasuresAtAnyAlignment) {
  for (const Dtype dtype : kEveryDtype) {
    for (int64_t offset = 1; offset <= 17; ++offset) check(dtype, {7, 41}, {}, offset);
  }
}

TEST(Measurer, MeasuresWhatReachesOverManyBlocksAndChunks) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16}) {
    check(dtype, {3, 97, 1501});
    check(dtype, {4099, 67});
    check(dtype, {2, 150001});
  }
}

TEST(Measurer, MeasuresEveryUnitDimension) {
  for (int32_t d = -5; d <= 5; ++d) {
    check(Dtype::kFloat32, {5, 6, 9, 11}, {}, 0, d, 0.97);
    check(Dtype::kFloat32, {5, 6, 9, 11}, channels_last({5, 6, 9, 11}), 0, d, 0.97);
    check(Dtype::kFloat64, {3, 4, 50, 60}, {}, 0, d, 0.999);
    check(Dtype::kFloat64, {3, 4, 50, 60}, channels_last({3, 4, 50, 60}), 0, d, 0.999);
    check(Dtype::kFloat16, {400}, {}, 0, d);
    check(Dtype::kFloat32, {1, 300}, {}, 0, d, 0.5);
    check(Dtype::kFloat32, {300, 1}, {}, 0, d, 0.5);
  }
}

TEST(Measurer, MeasuresAnyStrides) {
  for (const Dtype dtype : kEveryDtype) {
    check(dtype, {37, 90}, {1, 37});                                     // transposed
    check(dtype, {37, 90}, {100, 1}, 5);                                 // columns sliced off
    check(dtype, {37, 90}, {200, 2});                                    // every second column
    check(dtype, {4, 5, 6, 7}, channels_last({4, 5, 6, 7}));             // channels-last
    check(dtype, {4, 5, 6, 7}, {1, 4, 140, 20});                         // dense in a third order
    check(dtype, {6, 3, 60, 50}, channels_last({6, 3, 60, 50}));         // over several blocks
    check(dtype, {12, 1, 3000}, {1, 99999, 12});                         // a stride that is never used
    check(dtype, {40, 70}, {0, 1});                                      // expanded along dim 0
    check(dtype, {40, 70}, {1, 0});                                      // expanded along dim 1
    check(dtype, {2, 3, 2, 2, 3, 2, 5}, {1000, 300, 90, 44, 14, 6, 1});  // no two dimensions are contiguous
  }
}

TEST(Measurer, MeasuresAScalar) {
  for (const Dtype dtype : kEveryDtype) check(dtype, {});
  Measurer measurer(request(kEveryMeasure));
  TestTensor tensor(Dtype::kFloat32, {});
  const loupe_measurement& m = measurer.measure(tensor.fill({-3}));
  EXPECT_EQ(m.unit_count, 1);
  EXPECT_EQ(m.dead_unit_count, 0);
  EXPECT_EQ(m.sample_count, 1);
  EXPECT_EQ(m.sample_norm_sum, 3);
}

TEST(Measurer, MeasuresZerosForAnEmptyTensor) {
  check(Dtype::kFloat32, {0});
  check(Dtype::kFloat32, {0, 5});
  check(Dtype::kFloat64, {5, 0, 3}, {1, 1, 1});
  Measurer measurer(request(kEveryMeasure));
  const TestTensor tensor(Dtype::kInt8, {4, 0});
  const loupe_measurement& m = measurer.measure(tensor);
  EXPECT_EQ(m.unit_count, 0);
  EXPECT_EQ(m.dead_unit_count, 0);
  EXPECT_EQ(m.sample_norm_sum, 0);
  EXPECT_TRUE(std::isnan(m.minimum));
}

/// Finds the names and bits of all measures in the header of the ABI.
std::map<std::string, uint32_t> named_measures() {
  std::ostringstream text;
  text << std::ifstream(EVENTS_HEADER).rdbuf();
  const std::string header = text.str();
  const std::regex constant(R"((LOUPE_MEASURE_\w+) = 1u << (\d+))");
  std::map<std::string, uint32_t> measures;
  for (std::sregex_iterator at(header.begin(), header.end(), constant), end; at != end; ++at)
    measures[at->str(1)] = uint32_t{1} << std::stoul(at->str(2));
  return measures;
}

TEST(Measurer, HasATestForEveryMeasureOfTheHeader) {
  EXPECT_GE(named_measures().size(), 8U);
  for (const auto& [name, bit] : named_measures()) {
    EXPECT_EQ(kEveryMeasure & bit, bit) << name
                                        << " is not measured: add a row to kMeasures in host/kernel/measure/measurer.h";
    const bool is_compared = std::any_of(compared().begin(), compared().end(),
                                         [bit = bit](const Compared& each) { return each.measure == bit; });
    EXPECT_TRUE(is_compared) << name
                             << " has no test: compute it in Reference, and add a row to compared() in "
                                "tests/measure/reference.cpp";
  }
}

TEST(Measurer, MeasuresEachMeasureSeparately) {
  for (const Compared& each : compared()) {
    const uint32_t bit = each.measure;
    SCOPED_TRACE(bit);
    Measurer measurer(request(bit));
    Reference reference(1, 0);
    for (unsigned event = 0; event < 4; ++event) {
      TestTensor tensor(Dtype::kFloat32, {50, 90});
      const loupe_measurement& m = measurer.measure(tensor.fill_random(event));
      EXPECT_EQ(m.measures & bit, bit);
      expect_same(m, reference, reference.measure(tensor));
    }
  }
}

TEST(Measurer, ReportsImpliedMeasures) {
  const TestTensor tensor(Dtype::kFloat32, {3});
  EXPECT_EQ(Measurer(request(LOUPE_MEASURE_PREVIOUS)).measure(tensor).measures,
            uint32_t{LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_SUMS});
  EXPECT_EQ(Measurer(request(LOUPE_MEASURE_CHANGE_PREVIOUS)).measure(tensor).measures,
            uint32_t{LOUPE_MEASURE_CHANGE_PREVIOUS | LOUPE_MEASURE_CHANGE});
}

TEST(Measurer, MeasuresNothingOfTensorsThatItCannotRead) {
  Measurer measurer(request(kEveryMeasure));
  TestTensor tensor(Dtype::kFloat32, {3});
  measurer.measure(tensor.fill({1, 2, 3}));
  for (const int what : {0, 1, 2, 3, 4, 5}) {
    loupe_tensor odd = tensor.view();
    if (what == 0) odd.device_type = LOUPE_DEVICE_CUDA;
    if (what == 1) odd.dtype_code = LOUPE_DTYPE_COMPLEX;
    if (what == 2) odd.dtype_bits = 4;
    if (what == 3) odd.dtype_lanes = 2;
    if (what == 4) odd.dtype_code = LOUPE_DTYPE_BFLOAT;
    if (what == 5) odd.data = nullptr;
    EXPECT_EQ(measurer.measure(odd).measures, 0u);
    EXPECT_EQ(measurer.measure(odd).numel, 3);
    EXPECT_FALSE(has_previous(measurer.measure(tensor)));
    measurer.prime(odd);
    EXPECT_FALSE(has_change(measurer.measure(tensor)));
  }
}

TEST(Kernels, WidenEveryHalf) {
  for (uint32_t bits = 0; bits <= 0xffff; bits += 8) {
    uint16_t halves[8];
    float widened[8];
    for (uint32_t i = 0; i < 8; ++i) halves[i] = static_cast<uint16_t>(bits + i);
    widen_half(halves, widened, 8);
    for (uint32_t i = 0; i < 8; ++i) {
      const double expected = from_half(halves[i]);
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(widened[i]) : widened[i] == expected) << bits + i;
      EXPECT_EQ(std::signbit(widened[i]), halves[i] >= 0x8000);
    }
  }
}

TEST(Measurer, KeepsIntegersThatFloatsCannotHold) {
  Measurer measurer(request(kEveryMeasure));
  TestTensor tensor(Dtype::kInt64, {3});
  measurer.measure(tensor.fill({4503599627370497, 0, 0}));
  EXPECT_EQ(measurer.measure(tensor.fill({4503599627370500, 0, 0})).change_sum_squares, 9);
  EXPECT_EQ(measurer.measure(tensor).maximum, 4503599627370500);
}

}  // namespace
}  // namespace loupe::measure
