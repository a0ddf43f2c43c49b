// Trains copies of one model, each watched in a different way, in turn in one process, to compare the costs of the
// ways. Attaching to and detaching from one model cannot show cost differences of a tenth.
#pragma once

#include <loupe/inspector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/bench_models.h"

namespace loupe::bench {

/// A mean, and its standard error.
struct Estimate {
  double mean = 0, error = 0;
};

inline Estimate estimate_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Estimate estimate;
  double squares = 0;
  for (const double each : values) estimate.mean += each / count;
  for (const double each : values) squares += (each - estimate.mean) * (each - estimate.mean);
  if (values.size() > 1) estimate.error = std::sqrt(squares / (count - 1) / count);
  return estimate;
}

/// The time per step of one copy in microseconds, and the differences to other copies in the same rounds.
struct StepTime {
  std::string config;
  double median = 0;
  Estimate than_first, than_before;
};

/// The mean of the differences, without the largest and the smallest tenth.
inline double more_of(const std::vector<double>& times, const std::vector<double>& others) {
  std::vector<double> more;
  for (std::size_t i = 0; i < times.size(); ++i) more.push_back(times[i] - others[i]);
  std::sort(more.begin(), more.end());
  const auto cut = static_cast<std::ptrdiff_t>(more.size() / 10);
  return estimate_of({more.begin() + cut, more.end() - cut}).mean;
}

/// Memory blocks of many sizes, every second of them freed. The places that the allocator finds for a step's tensors
/// decide how much of them stays in the caches: a model of small layers is randomly a tenth faster or slower for its
/// whole training. Copies between different blocks have different places.
class ScatteredMemory {
 public:
  explicit ScatteredMemory(unsigned seed) {
    constexpr int most_blocks = 10000;
    std::mt19937 random(seed);
    blocks_.resize(random() % most_blocks);
    for (auto& each : blocks_) each = std::make_unique<char[]>(16 + random() % 2000);
    for (auto& each : blocks_) {
      if (random() % 2 == 0) each.reset();
    }
  }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
};

/// One copy of a model, and its inspector. The weights are the same in each copy.
class Copy {
 public:
  Copy(const std::string& model, const std::string& yaml)
      : subject_((torch::manual_seed(1), make_subject(model))),
        optimizer_(subject_.module->parameters(), torch::optim::SGDOptions(1e-4)),
        inspector_(Inspector::from_text(yaml)) {
    inspector_.attach(*subject_.module, optimizer_);
  }
  /// The time of one step in microseconds, averaged over a block of `steps`.
  double train(int steps) {
    train_step();  // runs with the caches that the other copies left
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) train_step();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    return taken.count() / steps;
  }
  void tick() { inspector_.tick_epoch(); }

 private:
  void train_step() { inspector_.push_loss(loupe::bench::train_step(subject_, optimizer_), true); }

  Subject subject_;
  torch::optim::SGD optimizer_;
  Inspector inspector_;
};

/// Trains a copy of `model` for each of `yamls` in turn, in short blocks, so that a change of the machine's speed
/// affects a whole round. Returns each copy's time per step in each round.
inline std::vector<std::vector<double>> train_in_turn(const std::string& model, const std::vector<std::string>& yamls,
                                                      double seconds) {
  constexpr int block = 20, blocks_a_tick = 10, warm_up = 5, least = 5;
  std::vector<std::unique_ptr<Copy>> copies;
  for (const std::string& yaml : yamls) copies.push_back(std::make_unique<Copy>(model, yaml));
  std::vector<std::vector<double>> times(copies.size());
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (int round = 0; round < warm_up + least || spent() < seconds; ++round) {
    // The order rotates, so that no copy always follows the same neighbour's caches.
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const std::size_t copy = (i + static_cast<std::size_t>(round)) % copies.size();
      const double time = copies[copy]->train(block);
      if (round >= warm_up) times[copy].push_back(time);
      if (round % blocks_a_tick == blocks_a_tick - 1) copies[copy]->tick();
    }
  }
  for (const auto& copy : copies) copy->tick();
  return times;
}

/// Measures new copies in each of `layouts` memory layouts. The errors come from the variation between layouts.
inline std::vector<StepTime> measure_together(const std::string& model, const std::vector<std::string>& configs,
                                              const std::vector<std::string>& yamls, double seconds, int layouts) {
  const std::size_t count = yamls.size();
  std::vector<std::vector<double>> than_first(count), than_before(count), all(count);
  for (int layout = 0; layout < layouts; ++layout) {
    const ScatteredMemory scattered(static_cast<unsigned>(layout));
    const std::vector<std::vector<double>> times = train_in_turn(model, yamls, seconds / layouts);
    for (std::size_t i = 0; i < count; ++i) {
      than_first[i].push_back(more_of(times[i], times[0]));
      than_before[i].push_back(more_of(times[i], times[i > 0 ? i - 1 : 0]));
      all[i].insert(all[i].end(), times[i].begin(), times[i].end());
    }
  }
  std::vector<StepTime> results;
  for (std::size_t i = 0; i < count; ++i) {
    std::sort(all[i].begin(), all[i].end());
    results.push_back({configs[i], all[i][all[i].size() / 2], estimate_of(than_first[i]), estimate_of(than_before[i])});
  }
  return results;
}

}  // namespace loupe::bench
