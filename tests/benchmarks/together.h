// Copies of one model, each watched in its own way, trained in turn in one process: how much more one way costs than
// another. Two ways whose costs differ by a tenth cannot be told apart by attaching and detaching one model.
#pragma once

#include <loupe/inspector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/bench_models.h"

namespace loupe::bench {

/// What a step of one copy takes, in microseconds, and what it takes more than another's of the same round.
struct StepTime {
  std::string config;
  double median = 0;
  struct More {
    double mean = 0;   ///< without the tenths of the rounds where it was most and least
    double error = 0;  ///< of the mean
  } than_first, than_before;
};

inline StepTime::More more_of(const std::vector<double>& times, const std::vector<double>& others) {
  std::vector<double> more;
  for (std::size_t i = 0; i < times.size(); ++i) more.push_back(times[i] - others[i]);
  std::sort(more.begin(), more.end());
  const std::size_t cut = more.size() / 10;
  const std::vector<double> kept(more.begin() + static_cast<std::ptrdiff_t>(cut),
                                 more.end() - static_cast<std::ptrdiff_t>(cut));
  const auto count = static_cast<double>(kept.size());
  double mean = 0, squares = 0;
  for (const double each : kept) mean += each / count;
  for (const double each : kept) squares += (each - mean) * (each - mean);
  return {mean, std::sqrt(squares) / count};
}

/// One copy of a model, and what watches it. The weights are the same in each.
class Copy {
 public:
  Copy(const std::string& model, const std::string& yaml)
      : subject_((torch::manual_seed(1), make_subject(model))),
        optimizer_(subject_.module->parameters(), torch::optim::SGDOptions(1e-4)),
        inspector_(Inspector::from_text("attach: {summary: false}\n" + yaml)) {
    inspector_.attach(*subject_.module, optimizer_);
  }
  /// What a step of a block of `steps` takes, in microseconds.
  double train(int steps) {
    train_step();  // finds the caches as the other copies left them
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

/// Trains a copy of `model` for each of `yamls` in turn, in short blocks, so that a machine that gets slower or faster
/// does so for all of a round.
inline std::vector<StepTime> measure_together(const std::string& model, const std::vector<std::string>& configs,
                                              const std::vector<std::string>& yamls, double seconds) {
  constexpr int block = 20, blocks_a_tick = 10, warm_up = 5, least = 5;
  std::vector<std::unique_ptr<Copy>> copies;
  for (const std::string& yaml : yamls) copies.push_back(std::make_unique<Copy>(model, yaml));
  std::vector<std::vector<double>> times(copies.size());
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (int round = 0; round < warm_up + least || spent() < seconds; ++round) {
    // Each is the first once, so that none always follows the same neighbour's caches.
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const std::size_t copy = (i + static_cast<std::size_t>(round)) % copies.size();
      const double time = copies[copy]->train(block);
      if (round >= warm_up) times[copy].push_back(time);
      if (round % blocks_a_tick == blocks_a_tick - 1) copies[copy]->tick();
    }
  }
  for (const auto& copy : copies) copy->tick();
  std::vector<StepTime> results;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    StepTime result{configs[i], 0, more_of(times[i], times[0]), more_of(times[i], times[i > 0 ? i - 1 : 0])};
    std::vector<double> sorted = times[i];
    std::sort(sorted.begin(), sorted.end());
    result.median = sorted[sorted.size() / 2];
    results.push_back(result);
  }
  return results;
}

}  // namespace loupe::bench
