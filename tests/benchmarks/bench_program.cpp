// A trainer that loupe_bench runs: alone, under `loupe run`, and in a second build with an inspector. It
// prints the microseconds of a step. With STEPS, it first trains a few other steps, and then STEPS steps in
// counted_steps(), whose instructions instructions.py counts.
//   bench_program MODEL SECONDS [STEPS]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "benchmarks/bench_models.h"
#ifdef LOUPE_BENCH_INSPECTOR
#include <loupe/inspector.h>
#endif

using namespace loupe::bench;

/// Valgrind finds this function by its name.
extern "C" __attribute__((noinline)) void counted_steps(const std::function<void()>& step, int count) {
  for (int i = 0; i < count; ++i) step();
}

int main(int count, char** arguments) {
  constexpr int blocks = 9, warm_up = 2;
  const std::string model = count > 1 ? arguments[1] : "A";
  const double seconds = count > 2 ? std::atof(arguments[2]) : 1;
  at::set_num_threads(1);
  const bool asks = model == "asks";  // "asks" calls zero_grad, clipping and averaging on the model
  Subject subject = make_subject(asks ? "D" : model);
  const Subject average = make_subject(asks ? "D" : model);
  torch::optim::SGD optimizer(subject.module->parameters(), torch::optim::SGDOptions(1e-4));
#ifdef LOUPE_BENCH_INSPECTOR
  auto inspector = loupe::Inspector::from_yaml(std::getenv("LOUPE_RUN_CONFIG"));
  inspector.attach(*subject.module, optimizer);
#endif
  const auto step = [&] {
    if (asks) subject.module->zero_grad();
    const torch::Tensor loss = train_step(subject, optimizer);
#ifdef LOUPE_BENCH_INSPECTOR
    inspector.push_loss(loss, true);
#endif
    if (!asks) return;
    torch::nn::utils::clip_grad_norm_(subject.module->parameters(), 1.0);
    const torch::NoGradGuard no_gradients;
    const auto newest = subject.module->named_parameters();
    for (auto& each : average.module->named_parameters()) each.value().mul_(0.99).add_(newest[each.key()], 0.01);
  };
  const auto block = [&](int steps) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) step();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / steps;
  };
  block(3);
  if (count > 3) {
    counted_steps(step, std::atoi(arguments[3]));
    return 0;
  }
  const int steps = std::max(3, static_cast<int>(1e6 * seconds / (blocks + warm_up) / block(3)));
  for (int i = 0; i < warm_up; ++i) block(steps);
  std::vector<double> times;
  for (int i = 0; i < blocks; ++i) times.push_back(block(steps));
  std::sort(times.begin(), times.end());
  std::printf("%.3f\n", times[blocks / 2]);
}
