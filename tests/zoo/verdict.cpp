#include "zoo/verdict.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

namespace zoo {
namespace {

constexpr double learned_share = 0.8;

double mean(const double* begin, std::size_t count) {
  return count == 0 ? NAN : std::accumulate(begin, begin + count, 0.0) / static_cast<double>(count);
}

/// An exact rule may report the fault one step early, in its step, or in the next.
bool in_time(const Fault& fault, std::uint64_t step) {
  return !fault.step || (step + 1 >= *fault.step && step <= *fault.step + 1);
}

bool fits(const Fault& fault, const std::string& layer) {
  return fault.layers.empty() || std::count(fault.layers.begin(), fault.layers.end(), layer) != 0;
}

std::string verdict(const Outcome& outcome) {
  if (!outcome.failure.empty()) return "BROKEN";
  if (outcome.planted) return !outcome.caught ? "MISSED" : outcome.layer_right ? "caught" : "WRONG LAYER";
  if (!outcome.own.empty() || !outcome.others.empty()) return "FALSE ALARM";
  return outcome.learns() ? "quiet" : "LEARNS NOTHING";
}

std::string losses(const Outcome& outcome) {
  if (std::isnan(outcome.first_loss)) return "-";
  std::ostringstream text;
  text << std::setprecision(3) << outcome.first_loss << " > " << outcome.last_loss;
  return text.str();
}

std::string line(const loupe::Finding& told) {
  std::string text = told.rule;
  if (!told.layer.empty()) text += " of " + told.layer;
  if (!told.parameter.empty()) text += "." + told.parameter;
  return text + ", step " + std::to_string(told.first_step) + ": " + told.message;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
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

void print_table(const std::vector<Outcome>& outcomes, std::ostream& out) {
  const auto row = [&](const auto& rule, const auto& architecture, const auto& seed, const auto& twin,
                       const auto& verdict, const auto& step, const auto& loss) {
    out << std::left << std::setw(23) << rule << std::setw(40) << architecture << std::setw(6) << seed << std::setw(9)
        << twin << std::setw(16) << verdict << std::setw(6) << step << loss << "\n";
  };
  row("rule", "architecture", "seed", "fault", "verdict", "step", "loss");
  for (const Outcome& each : outcomes) {
    row(each.rule.empty() ? "-" : each.rule, each.architecture, each.seed, each.planted ? "planted" : "none",
        verdict(each), each.step ? std::to_string(*each.step) : "-", losses(each));
    if (each.is_right()) continue;
    if (!each.failure.empty()) out << "    " << each.failure << "\n";
    for (const loupe::Finding& told : each.own) out << "    " << line(told) << "\n";
    for (const loupe::Finding& told : each.others) out << "    " << line(told) << "\n";
  }

  std::size_t planted = 0, caught = 0, alarms = 0;
  for (const Outcome& each : outcomes) {
    planted += each.planted ? 1 : 0;
    caught += each.planted && each.is_right() ? 1 : 0;
    alarms += !each.planted && !(each.own.empty() && each.others.empty()) ? 1 : 0;
  }
  out << "\n"
      << caught << " of " << planted << " faults caught, " << alarms << " of " << outcomes.size() - planted
      << " healthy runs with a false alarm\n"
      << std::fixed << std::setprecision(3) << "precision " << share(caught, caught + alarms) << ", recall "
      << share(caught, planted) << "\n";
}

void print_json(const std::vector<Outcome>& outcomes, std::ostream& out) {
  const auto lines = [](const std::vector<loupe::Finding>& told) {
    nlohmann::json texts = nlohmann::json::array();
    std::transform(told.begin(), told.end(), std::back_inserter(texts), line);
    return texts;
  };
  nlohmann::json all = nlohmann::json::array();
  for (const Outcome& each : outcomes) {
    nlohmann::json run = {{"rule", each.rule},
                          {"architecture", each.architecture},
                          {"seed", each.seed},
                          {"planted", each.planted},
                          {"caught", each.caught},
                          {"layer_right", each.layer_right},
                          {"step", each.step ? nlohmann::json(*each.step) : nlohmann::json()},
                          {"own", lines(each.own)},
                          {"others", lines(each.others)},
                          {"first_loss", each.first_loss},
                          {"last_loss", each.last_loss}};
    if (!each.failure.empty()) run["failure"] = each.failure;
    all.push_back(run);
  }
  out << all.dump(2) << "\n";
}

}  // namespace zoo
