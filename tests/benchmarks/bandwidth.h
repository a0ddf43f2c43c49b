#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace loupe::bench {

/// The memory that so many bytes fit in, by what the system says of its caches.
inline std::string memory_level(double bytes) {
  const auto fits = [&](int name) { return bytes <= static_cast<double>(sysconf(name)); };
  if (fits(_SC_LEVEL1_DCACHE_SIZE)) return "L1";
  if (fits(_SC_LEVEL2_CACHE_SIZE)) return "L2";
  return fits(_SC_LEVEL3_CACHE_SIZE) ? "L3" : "DRAM";
}

/// Reads so many bytes over and over, and returns the best of a few passes in GB/s: the speed of the memory level that
/// they fit in, or of DRAM where they are more than the caches hold.
inline double read_bandwidth(int threads, double bytes = 256.0 * (1 << 20)) {
  constexpr std::size_t most_words = std::size_t{1} << 25, fewest_words = std::size_t{1} << 12;
  constexpr std::size_t words_a_pass = most_words;
  static const std::vector<uint64_t> data(most_words, 1);
  static volatile uint64_t sink;
  const std::size_t words = std::clamp(static_cast<std::size_t>(bytes / sizeof(uint64_t)), fewest_words, most_words);
  const std::size_t share = words / static_cast<std::size_t>(threads) / 8 * 8;
  const std::size_t rounds = std::max<std::size_t>(1, words_a_pass / words);
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    std::vector<uint64_t> sums(static_cast<std::size_t>(threads) * 8);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> readers;
    for (int t = 0; t < threads; ++t) {
      readers.emplace_back([&, t] {
        const uint64_t* from = data.data() + share * static_cast<std::size_t>(t);
        uint64_t sum[8] = {};
        for (std::size_t round = 0; round < rounds; ++round) {
          for (std::size_t i = 0; i < share; i += 8) {
            for (int lane = 0; lane < 8; ++lane) sum[lane] += from[i + static_cast<std::size_t>(lane)];
          }
          asm volatile("" ::: "memory");  // each round reads again
        }
        for (const uint64_t each : sum) sums[static_cast<std::size_t>(t) * 8] += each;
      });
    }
    for (std::thread& reader : readers) reader.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const uint64_t sum : sums) sink = sink + sum;
    const double read = static_cast<double>(share * rounds * sizeof(uint64_t)) * threads;
    best = std::max(best, read / seconds / 1e9);
  }
  return best;
}

}  // namespace loupe::bench
