#include "zoo/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace zoo {
namespace {

constexpr double learned_share = 0.8;

double mean(const double* begin, std::size_t count) {
  return count == 0 ? NAN : std::accumulate(begin, begin + count, 0.0) / static_cast<double>(count);
}

/// An exact rule may tell it in the step of the fault or in the next, and not before.
bool in_time(const Fault& fault, std::uint64_t step) {
  return !fault.step || (step + 1 >= *fault.step && step <= *fault.step + 1);
}

bool fits(const Fault& fault, const std::string& layer) {
  return fault.layers.empty() || std::count(fault.layers.begin(), fault.layers.end(), layer) != 0;
}

}  // namespace

bool Outcome::learns() const {
  return std::isnan(first_loss) || last_loss < learned_share * first_loss;
}

bool Outcome::is_right() const {
  if (!failure.empty()) return false;
  return planted ? caught && layer_right : own.empty() && others.empty() && learns();
}

Outcome judge(const Trainer& trainer, std::uint64_t seed, bool planted, const std::vector<loupe::Finding>& told,
              const std::vector<double>& losses) {
  Outcome outcome{trainer.rule, trainer.architecture, seed, planted};
  for (const loupe::Finding& each : told) {
    if (each.severity < LOUPE_SEVERITY_WARNING) continue;
    (each.rule == trainer.rule ? outcome.own : outcome.others).push_back(each);
  }
  for (const loupe::Finding& each : outcome.own) {
    outcome.step = std::min(outcome.step.value_or(each.first_step), each.first_step);
    if (planted && !in_time(trainer.fault, each.first_step)) continue;
    outcome.caught = true;
    outcome.layer_right = outcome.layer_right || fits(trainer.fault, each.layer);
  }
  const std::size_t few = std::min<std::size_t>(losses.size(), std::max<std::size_t>(losses.size() / 10, 3));
  outcome.first_loss = mean(losses.data(), few);
  outcome.last_loss = mean(losses.data() + losses.size() - few, few);
  return outcome;
}

}  // namespace zoo
