#include "run/program_section.h"

#include <loupe/detail/option_table.h>
#include <loupe/options.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <set>
#include <sstream>

#include "config/yaml_text.h"
#include "options/diagnostics.h"

namespace loupe {
namespace {

const detail::OptionStorage& program_options() {
  static const auto& options = *new detail::OptionStorage({
      {"models", Strings{},
       "the types whose modules are watched, names or globs; those that optimizers hold when empty"},
      {"epoch", "auto",
       "where an epoch ends: 'eval' (where train() follows eval()), '100 steps', '30 seconds', or auto: where train() "
       "is called again, a data loader or a shuffled order begins again, or steps continue after a validation or a "
       "step of a scheduler, and after 100 steps in a program that does none of that"},
      {"loss", Strings{},
       "names for the losses on which backward() is called, in the order of the first calls; '-' leaves one out"},
      {"first_epoch", 0,
       "the number of the first epoch; 0: 1, or with 'resume: true' under run the one after the last in the record", 0,
       1e9},
  });
  return options;
}

/// "auto", "eval", "100 steps", "30 seconds"; false for anything else.
bool read_epoch(const std::string& text, RunProgramSection& section) {
  using Epoch = RunProgramSection::Epoch;
  if (text == "auto" || text == "eval") {
    section.epoch = text == "auto" ? Epoch::automatic : Epoch::train_eval;
    return true;
  }
  std::istringstream words(text);
  double length = 0;
  std::string unit, more;
  if (!(words >> length >> unit) || words >> more || !(length > 0) || !std::isfinite(length)) return false;
  section.epoch_length = length;
  if (unit == "step" || unit == "steps") {
    section.epoch = Epoch::steps;
    return length == std::floor(length) && length <= 1e9;
  }
  section.epoch = Epoch::seconds;
  return unit == "second" || unit == "seconds" || unit == "s";
}

void check_losses(const YAML::Node& written, const RunProgramSection& section, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (const std::string& name : section.losses) {
    if (name == "-" || (!name.empty() && names.insert(name).second)) continue;
    diagnostics.error(written, name.empty() ? "a loss under run_program needs a name; '-' leaves one out"
                                            : "two losses under run_program have the name '" + name +
                                                  "', so their values could not be told apart");
  }
}

}  // namespace

OptionTable run_program_options() {
  return {program_options().pointers(), program_options().size()};
}

RunProgramSection read_run_program(const YAML::Node& node, Diagnostics& diagnostics) {
  const auto set = OptionSet::from_yaml(run_program_options(), node, "run_program", diagnostics);
  RunProgramSection section;
  if (!diagnostics.empty()) return section;
  const Options options(set->get());
  const auto models = options.get<Strings>("models"), losses = options.get<Strings>("loss");
  section.models.assign(models.begin(), models.end());
  section.losses.assign(losses.begin(), losses.end());
  section.first_epoch = options.get<int>("first_epoch");
  const YAML::Node epoch = node.IsMap() ? node["epoch"] : node;
  const auto text = options.get<std::string>("epoch");
  if (!read_epoch(text, section)) {
    diagnostics.error(epoch.IsDefined() ? epoch : node,
                      "run_program's epoch cannot be '" + text + "'; write auto, eval, '100 steps' or '30 seconds'");
  }
  if (!losses.empty()) check_losses(node["loss"], section, diagnostics);
  return section;
}

void check_run_program(const YAML::Node& section, Diagnostics& diagnostics) {
  read_run_program(section, diagnostics);
}

RunProgramSection run_program_of(const Config& config) {
  Diagnostics none(config.file);
  const YAML::Node section = read_yaml(config.text, none)["run_program"];
  return read_run_program(section.IsDefined() ? section : YAML::Node(YAML::NodeType::Null), none);
}

}  // namespace loupe
