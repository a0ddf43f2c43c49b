#pragma once

#include <string>

#include "options/option_set.h"

namespace loupe {

class Diagnostics;

/// What a configuration says of a program that `loupe run` watches: what to take instead of what it guesses.
struct RunProgramSection {
  enum class Epoch {
    automatic,  ///< train_eval once the program calls eval(); until then, and where it never does, by steps
    train_eval,
    steps,
    seconds,
  };
  std::vector<std::string> models;  ///< types, as names or globs; empty: what optimizers hold
  Epoch epoch = Epoch::automatic;
  double epoch_length = 100;        ///< in steps or seconds
  std::vector<std::string> losses;  ///< names by the order of the calls of backward(); "-" leaves one out
  int first_epoch = 0;              ///< 0: 1, or behind the last that a resumed run has recorded
};

/// Reads the section `run_program`. Faults go to `diagnostics`.
RunProgramSection read_run_program(const YAML::Node& section, Diagnostics& diagnostics);
/// The same from a whole configuration that has been found right.
RunProgramSection run_program_of(const std::string& text);

}  // namespace loupe
