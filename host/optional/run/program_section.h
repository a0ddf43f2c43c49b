#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "options/option_set.h"

namespace loupe {

/// Overrides the guesses of `loupe run` about a program.
struct RunProgramSection {
  enum class Epoch {
    automatic,  ///< train_eval once the program calls eval(); otherwise by steps
    train_eval,
    steps,
    seconds,
  };
  std::vector<std::string> models;  ///< types, as names or globs; empty: the models that optimizers hold
  Epoch epoch = Epoch::automatic;
  double epoch_length = 100;        ///< in steps or seconds
  std::vector<std::string> losses;  ///< names by the order of the calls of backward(); "-" leaves one out
  int first_epoch = 0;              ///< 0: 1, or the one after the last recorded of a resumed run
};

/// The options of the section `run_program`.
OptionTable run_program_options();

/// Reads that section. Faults go to `diagnostics`.
RunProgramSection read_run_program(const YAML::Node& section, Diagnostics& diagnostics);
/// See FindTable::check.
void check_run_program(const YAML::Node& section, Diagnostics& diagnostics);
/// The section of a configuration that was read.
RunProgramSection run_program_of(const Config& config);

}  // namespace loupe
