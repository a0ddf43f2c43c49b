// Measures the cost of measuring a tensor, compared with only reading it. Run it by hand, on an idle machine:
//   kernel_bench --benchmark_filter='/4096$'
// "bytes_per_second" counts the measured tensor only; comparing also reads and writes the old values.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "../measure/tensor.h"
#include "measure/elements.h"
#include "measure/kernels.h"
#include "measure/measurer.h"

namespace loupe::measure {
namespace {

constexpr int64_t kSmall = 4096;               // a 64 x 64 layer
constexpr int64_t kCached = int64_t{1} << 16;  // 256 KiB of floats: in the second-level cache
constexpr int64_t kLarge = int64_t{1} << 25;   // 128 MiB of floats: beyond every cache

struct Case {
  const char* name;
  uint32_t measures;
};

constexpr uint32_t kUsual = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_EXTREMES | LOUPE_MEASURE_ACTIVITY;

constexpr Case kCases[] = {
    {"sums", LOUPE_MEASURE_SUMS},           {"extremes", LOUPE_MEASURE_EXTREMES},
    {"activity", LOUPE_MEASURE_ACTIVITY},   {"sums+extremes+activity", kUsual},
    {"samples", LOUPE_MEASURE_SAMPLES},     {"previous", LOUPE_MEASURE_PREVIOUS},
    {"change", LOUPE_MEASURE_CHANGE},       {"change_previous", LOUPE_MEASURE_CHANGE_PREVIOUS},
    {"histogram", LOUPE_MEASURE_HISTOGRAM},
};

struct NamedDtype {
  const char* name;
  Dtype dtype;
};

constexpr NamedDtype kDtypes[] = {{"float32", Dtype::kFloat32}, {"float64", Dtype::kFloat64},
                                  {"float16", Dtype::kFloat16}, {"bfloat16", Dtype::kBFloat16},
                                  {"int64", Dtype::kInt64},     {"bool", Dtype::kBool}};

/// Memory aligned to 64 bytes, like LibTorch's.
class Memory {
 public:
  explicit Memory(int64_t bytes) : bytes_(::operator new (static_cast<size_t>(bytes), std::align_val_t{64})) {}
  ~Memory() { ::operator delete (bytes_, std::align_val_t{64}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  template <typename T>
  T* as() {
    return static_cast<T*>(bytes_);
  }

 private:
  void* bytes_;
};

/// Fills the memory with ordinary numbers of the dtype; another `seed` gives different numbers.
void fill(Memory& memory, Dtype dtype, int64_t numel, int64_t seed) {
  for (int64_t i = 0; i < numel; ++i) {
    const int64_t number = (i * 7919 + seed) % 255 - 127;
    switch (dtype) {
      case Dtype::kFloat32:
        memory.as<float>()[i] = static_cast<float>(number) / 64;
        break;
      case Dtype::kFloat64:
        memory.as<double>()[i] = static_cast<double>(number) / 64;
        break;
      case Dtype::kFloat16:
        memory.as<uint16_t>()[i] = static_cast<uint16_t>(0x3800 + number);
        break;
      case Dtype::kBFloat16:
        memory.as<uint16_t>()[i] = static_cast<uint16_t>(0x3f00 + number);
        break;
      case Dtype::kInt64:
        memory.as<int64_t>()[i] = number;
        break;
      default:
        memory.as<uint8_t>()[i] = static_cast<uint8_t>(number & 1);
        break;
    }
  }
}

/// Measures a stream of two alternating matrices, `columns` wide, so that every matrix differs from the last.
void measure(benchmark::State& state, Dtype dtype, uint32_t measures, int64_t numel, bool channels_last = false) {
  const int64_t bytes = numel * element_size(dtype);
  const int64_t columns = 64;
  const int64_t sizes[] = {numel / columns / 16, columns, 16};
  const int64_t row_major[] = {columns * 16, 16, 1};
  const int64_t last[] = {columns * 16, 1, columns};
  Memory memory[2] = {Memory(bytes), Memory(bytes)};
  loupe_tensor tensors[2] = {};
  for (int i = 0; i < 2; ++i) {
    fill(memory[i], dtype, numel, i * 31);
    tensors[i].struct_size = sizeof(loupe_tensor);
    set_dtype(tensors[i], dtype);
    tensors[i].device_type = LOUPE_DEVICE_CPU;
    tensors[i].data = memory[i].as<void>();
    tensors[i].sizes = sizes;
    tensors[i].strides = channels_last ? last : row_major;
    tensors[i].dim = 3;
    tensors[i].numel = numel;
  }
  loupe_request request = {};
  request.measures = measures;
  request.unit_dimension = 1;
  Measurer measurer(request);
  for (int i = 0; i < 4; ++i) measurer.measure(tensors[i % 2]);
  int turn = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(measurer.measure(tensors[turn]));
    turn = 1 - turn;
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// The baseline: only reads two alternating tensors. Finding the range takes hardly longer.
void read_only(benchmark::State& state, int64_t numel) {
  Memory memory[2] = {Memory(numel * 4), Memory(numel * 4)};
  for (int i = 0; i < 2; ++i) fill(memory[i], Dtype::kFloat32, numel, i);
  int turn = 0;
  for (auto _ : state) {
    const auto* words = memory[turn].as<const uint64_t>();
    uint64_t all[8] = {};
    for (int64_t i = 0; i < numel / 2; i += 8) {
      for (int64_t j = 0; j < 8; ++j) all[j] |= words[i + j];
    }
    benchmark::DoNotOptimize(all);
    turn = 1 - turn;
  }
  state.SetBytesProcessed(state.iterations() * numel * 4);
}

void register_all() {
  for (const int64_t numel : {kSmall, kCached, kLarge}) {
    const std::string size = std::string("/").append(std::to_string(numel));
    benchmark::RegisterBenchmark(("read_only" + size).c_str(), [=](benchmark::State& s) { read_only(s, numel); });
    for (const NamedDtype& dtype : kDtypes) {
      for (const Case& c : kCases) {
        const std::string name = std::string(dtype.name) + "/" + c.name + size;
        benchmark::RegisterBenchmark(
            name.c_str(), [=, d = dtype.dtype, m = c.measures](benchmark::State& s) { measure(s, d, m, numel); });
      }
    }
    benchmark::RegisterBenchmark(("float32/channels_last/sums+extremes+activity" + size).c_str(),
                                 [=](benchmark::State& s) { measure(s, Dtype::kFloat32, kUsual, numel, true); });
  }
}

}  // namespace
}  // namespace loupe::measure

int main(int argc, char** argv) {
  loupe::measure::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
