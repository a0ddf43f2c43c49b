#include "run/default_monitor.h"

#include <loupe/text/environment.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "config/launch.h"
#include "core/log.h"
#include "preload/boundary.h"

namespace loupe {
namespace {

// The console does not write to the stream of the program's results.
constexpr const char* lens_of_results = "  - output_activation: {include: [+linear]}\n";
constexpr const char* default_monitor = R"(loupe: 1
attach: {budget: 3%}
lenses:
  - health
  - loss_metrics
  - learning_rate
)";
constexpr const char* rest_of_default_monitor = R"(  - gradient_geometry
  - parameter_difference
  - step_time
visualizers:
  - console: {to: stderr}
  - record
  - html
)";

constexpr std::int64_t most_traced = 1000;  // steps; the command has the same limit

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

void keep_from_interfering(Config& config) {
  if (std::exchange(config.stop_on_error, false))
    log(LOUPE_LOG_WARNING, "on_error: stop acts as quarantine, because loupe run must not stop the program");
  for (std::string* answer : {&config.on_info, &config.on_warning, &config.on_finding_error}) {
    if (*answer != "dump" && std::exchange(*answer, "tell") != "tell")
      log(LOUPE_LOG_WARNING, "on_finding: stop or throw acts as tell, because loupe run must not stop the program");
  }
}

/// Standard output holds the program's own results. A console writes there only if the configuration demands it.
void write_beside_the_program(Config& config) {
  const YAML::Node told = YAML::Load(config.text)["visualizers"];
  for (std::size_t i = 0; i < config.visualizers.size() && i < told.size(); ++i) {
    const ComponentConfig& each = config.visualizers[i];
    const bool says_where = told[i].IsMap() && told[i].begin()->second.IsMap() && told[i].begin()->second["to"];
    if (std::string_view(each.entry.component->name) == "console" && !says_where)
      each.options->set_text("to", "stderr");
  }
}

}  // namespace

Config configuration_of_program(bool has_modules) {
  const std::string file = environment(run_config_variable), folder = environment(run_folder_variable);
  const std::string process = std::to_string(::getpid()), program = program_invocation_short_name;
  const std::string name = environment(run_name_variable);
  Config config;
  if (!file.empty()) {
    config = Config::from_file(file);
    if (!name.empty()) config.run_name = name;
    write_beside_the_program(config);
  } else {
    const std::string text =
        std::string(default_monitor) + (has_modules ? lens_of_results : "") + rest_of_default_monitor;
    config = Config::from_text(text, "loupe run", working_folder());
    for (ComponentConfig& lens : config.lenses) lens.is_written = false;
    config.run_name = name.empty() ? program : name;
    config.run_directory = (folder.empty() ? working_folder() + "/loupe-runs" : folder) + "/" + config.run_name;
    config.has_run_directory = true;
  }
  if (is_set(run_every_step_variable, "1")) {
    config.every = 1;
    config.budget = 0;
  }
  if (const auto traced = number_in_environment(run_trace_variable, 1, most_traced))
    config.trace_steps = static_cast<uint64_t>(*traced);
  config.join(Launch::from_environment());
  if (config.launch.world_size == 1 && process != environment(run_process_variable)) {
    config.run_name += "-" + process;
    config.run_directory += (config.has_run_directory ? "-" : "/" + program + "-") + process;
    config.has_run_directory = true;
  }
  keep_from_interfering(config);
  return config;
}

}  // namespace loupe
