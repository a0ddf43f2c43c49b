#ifndef LOUPE_TESTS_BENCHMARKS_BANDWIDTH_H
#define LOUPE_TESTS_BENCHMARKS_BANDWIDTH_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace loupe::bench {

/// Reads far more than the caches hold, and returns the best of a few passes in GB/s.
inline double read_bandwidth(int threads) {
  constexpr std::size_t words = std::size_t{1} << 25;  // 256 MiB
  static const std::vector<uint64_t> data(words, 1);
  static volatile uint64_t sink;
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    std::vector<uint64_t> sums(static_cast<std::size_t>(threads) * 8);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> readers;
    for (int t = 0; t < threads; ++t) {
      readers.emplace_back([&, t] {
        const std::size_t share = words / static_cast<std::size_t>(threads);
        const uint64_t* from = data.data() + share * static_cast<std::size_t>(t);
        uint64_t sum[8] = {};
        for (std::size_t i = 0; i + 8 <= share; i += 8) {
          for (int lane = 0; lane < 8; ++lane) sum[lane] += from[i + static_cast<std::size_t>(lane)];
        }
        for (const uint64_t each : sum) sums[static_cast<std::size_t>(t) * 8] += each;
      });
    }
    for (std::thread& reader : readers) reader.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const uint64_t sum : sums) sink = sink + sum;
    best = std::max(best, static_cast<double>(words * sizeof(uint64_t)) / seconds / 1e9);
  }
  return best;
}

}  // namespace loupe::bench

#endif
