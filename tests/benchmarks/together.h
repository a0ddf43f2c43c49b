// Copies of one model, each watched in its own way, trained in turn in one process: how much more one way costs than
// another. Two ways whose costs differ by a tenth cannot be told apart by attaching and detaching one model.
#pragma once

#include <loupe/inspector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/bench_models.h"

namespace loupe::bench {

/// What a step of one copy takes, in microseconds.
struct StepTime {
  std::string config;
  double low = 0;  // a tenth of the blocks are faster: what the step takes where nothing else runs
  double median = 0;
};

/// One copy of a model, and what watches it. The weights are the same in each.
class Copy {
 public:
  Copy(const std::string& model, const std::string& yaml)
      : subject_((torch::manual_seed(1), make_subject(model))),
        optimizer_(subject_.module->parameters(), torch::optim::SGDOptions(1e-4)),
        inspector_(Inspector::from_text("attach: {summary: false}\n" + yaml)) {
    inspector_.attach(*subject_.module, optimizer_);
  }
  /// A block of `steps`; its time a step is kept unless it only warms up.
  void train(int steps, bool warms_up) {
    train_step();  // finds the caches as the other copies left them
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) train_step();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    inspector_.tick_epoch();
    if (!warms_up) times_.push_back(taken.count() / steps);
  }
  StepTime result(std::string config) {
    std::sort(times_.begin(), times_.end());
    return {std::move(config), times_[times_.size() / 10], times_[times_.size() / 2]};
  }

 private:
  void train_step() { inspector_.push_loss(loupe::bench::train_step(subject_, optimizer_), true); }

  Subject subject_;
  torch::optim::SGD optimizer_;
  Inspector inspector_;
  std::vector<double> times_;
};

/// Trains a copy of `model` for each of `yamls` in turn, at least five blocks each.
inline std::vector<StepTime> measure_together(const std::string& model, const std::vector<std::string>& configs,
                                              const std::vector<std::string>& yamls, double seconds) {
  constexpr int block = 100, warm_up = 5, least = 5;
  std::vector<std::unique_ptr<Copy>> copies;
  for (const std::string& yaml : yamls) copies.push_back(std::make_unique<Copy>(model, yaml));
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (int round = 0; round < warm_up + least || spent() < seconds; ++round) {
    // Each is the first once, so that none always follows the same neighbour's caches.
    for (std::size_t i = 0; i < copies.size(); ++i)
      copies[(i + static_cast<std::size_t>(round)) % copies.size()]->train(block, round < warm_up);
  }
  std::vector<StepTime> results;
  for (std::size_t i = 0; i < copies.size(); ++i) results.push_back(copies[i]->result(configs[i]));
  return results;
}

}  // namespace loupe::bench
