#include "config/run_program_section.h"

#include <loupe/options.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <set>
#include <sstream>

#include "config/sections.h"
#include "config/yaml_text.h"

namespace loupe {
namespace {

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
                                                  "', so that their values could not be told apart");
  }
}

}  // namespace

RunProgramSection read_run_program(const YAML::Node& node, Diagnostics& diagnostics) {
  const OptionTable* table = nullptr;
  for (const auto& [name, options] : host_sections()) {
    if (name == "run_program") table = &options;
  }
  const auto set = OptionSet::from_yaml(*table, node, "run_program", diagnostics);
  RunProgramSection section;
  if (!diagnostics.empty()) return section;
  const Options options(set->get());
  const auto models = options.get<Strings>("models"), losses = options.get<Strings>("loss");
  section.models.assign(models.begin(), models.end());
  section.losses.assign(losses.begin(), losses.end());
  section.first_epoch = options.get<int>("first_epoch");
  const YAML::Node epoch = node.IsMap() ? value_of(node, "epoch") : YAML::Node();
  const auto text = options.get<std::string>("epoch");
  if (!read_epoch(text, section)) {
    diagnostics.error(epoch.IsDefined() ? epoch : node,
                      "run_program's epoch cannot be '" + text + "'; write auto, eval, '100 steps' or '30 seconds'");
  }
  if (!losses.empty()) check_losses(value_of(node, "loss"), section, diagnostics);
  return section;
}

RunProgramSection run_program_of(const std::string& text) {
  Diagnostics diagnostics("<configuration>");
  const YAML::Node root = read_yaml(text, diagnostics);
  if (!root.IsMap()) return {};
  RunProgramSection section = read_run_program(value_of(root, "run_program"), diagnostics);
  diagnostics.throw_if_any();
  return section;
}

}  // namespace loupe
