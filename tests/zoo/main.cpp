// Trains models with one planted fault each, and without it: does Loupe report the faults, and nothing else?

#include <loupe/log.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>

#include "zoo/verdict.h"

namespace {

zoo::Trainers all_trainers() {
  zoo::Trainers trainers;
  for (const auto& add :
       {zoo::add_values, zoo::add_loop, zoo::add_optimizers, zoo::add_structure, zoo::add_signals, zoo::add_starts,
        zoo::add_curves, zoo::add_inputs, zoo::add_comparisons, zoo::add_speed, zoo::add_collapse,
        zoo::add_healthy_loops, zoo::add_healthy_models, zoo::add_healthy_agents, zoo::add_healthy_policies,
        zoo::add_healthy_programs, zoo::add_healthy_generative, zoo::add_healthy_stages})
    add(trainers);
  return trainers;
}

zoo::Outcome train(const zoo::Trainer& trainer, std::uint64_t seed, bool planted) {
  zoo::Run run(seed, planted);
  std::string failure;
  try {
    trainer.train(run);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  zoo::Outcome outcome = zoo::judge(trainer, seed, planted, run.inspector.findings(), run.train_losses());
  outcome.failure = failure.substr(0, failure.find('\n'));
  return outcome;
}

/// The share of correct verdicts among the runs with a planted fault, or among those without.
double share_right(const std::vector<zoo::Outcome>& outcomes, bool planted) {
  double all = 0, right = 0;
  for (const zoo::Outcome& each : outcomes) {
    if (each.planted != planted) continue;
    ++all;
    right += each.is_right() ? 1 : 0;
  }
  return all > 0 ? right / all : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains models with and without planted faults, and counts which faults Loupe reports.");
  std::uint64_t seeds = 1;
  std::string rule;
  bool as_json = false, talks = false;
  double recall = 1, healthy = 1;
  app.add_option("--seeds", seeds, "How many seeds, from 1 on")->capture_default_str();
  app.add_option("--rule", rule, "Only the trainers of this rule; '-' for those that have no fault");
  app.add_flag("--json", as_json, "An array of runs instead of the table");
  app.add_flag("--log", talks, "Also Loupe's own messages, on stderr");
  app.add_option("--recall", recall, "The share of planted faults that must be caught")->capture_default_str();
  app.add_option("--healthy", healthy, "The share of healthy runs that must have no warning")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  if (!talks) loupe::set_log([](loupe::LogLevel, const std::string&) {});
  zoo::use_one_thread();
  std::vector<zoo::Outcome> outcomes;
  const zoo::Trainers trainers = all_trainers();
  for (const zoo::Trainer& trainer : trainers.all) {
    if (!rule.empty() && rule != (trainer.rule.empty() ? "-" : trainer.rule)) continue;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      if (!trainer.rule.empty()) outcomes.push_back(train(trainer, seed, true));
      outcomes.push_back(train(trainer, seed, false));
    }
  }
  if (outcomes.empty()) {
    std::cerr << "zoo: error: no trainer has a fault of the rule '" << rule << "'; leave --rule out to see all rules\n";
    return 2;
  }
  if (as_json) {
    zoo::print_json(outcomes, std::cout);
  } else {
    zoo::print_table(outcomes, std::cout);
  }
  return share_right(outcomes, true) >= recall && share_right(outcomes, false) >= healthy ? 0 : 1;
}
