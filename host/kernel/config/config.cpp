#include "config/config.h"

#include <loupe/draft/abi/option_names.h>
#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/options.h>
#include <pwd.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "config/sections.h"
#include "config/yaml_text.h"
#include "core/find.h"
#include "core/log.h"
#include "core/text.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

fs::path home_folder() {
  // Use $HOME like the shell; a program with the rights of another user uses the folder of that user instead.
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && *home == '/') return home;
  const struct ::passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr || user->pw_dir == nullptr || *user->pw_dir != '/')
    throw Error("'~' has no meaning: this user has no home folder; write the whole path");
  return user->pw_dir;
}

const auto& top_keys =
    *new std::vector<std::string>{"loupe",    "run",        "attach",      "plugins", "lenses", "visualizers",
                                  "on_error", "on_finding", "run_program", "ranks",   "trace"};

/// A component may be unknown because its plugin could not be used.
void tell_problems(const Catalogue& catalogue, const Diagnostics& diagnostics) {
  const std::string told = diagnostics.text();
  for (const std::string& problem : catalogue.problems()) {
    if (told.find(problem) == std::string::npos) log(LOUPE_LOG_WARNING, problem);
  }
}

/// A map of many keys and none of these is another kind of file; do not report all its lines.
void check_is_configuration(const YAML::Node& map, Diagnostics& diagnostics) {
  constexpr std::size_t many = 4;
  const bool has_any =
      std::any_of(top_keys.begin(), top_keys.end(), [&](const std::string& key) { return map[key].IsDefined(); });
  if (has_any || map.size() < many) return;
  diagnostics.error(map, "none of the " + std::to_string(map.size()) +
                             " keys is known in a configuration; is this another kind of file?");
  diagnostics.throw_if_any();
}

void check_run_directory(const YAML::Node& run, Diagnostics& diagnostics) {
  const YAML::Node written = value_of(run, "dir");
  if (!written.IsScalar()) return;
  try {
    full_path(written.Scalar(), "/");
  } catch (const Error& e) {
    diagnostics.error(written, e.what());
  }
}

/// Makes the paths of a component's files absolute.
void complete_files(const ComponentConfig& component, const std::string& folder) {
  for (const loupe_option* option : component.entry.options()) {
    if ((option->flags & LOUPE_DRAFT_OPTION_FILE) == 0) continue;
    const auto path = Options(component.options->get()).get<std::string>(option->name);
    try {
      if (!path.empty()) component.options->set_text(option->name, full_path(path, folder));
    } catch (const Error& e) {
      throw ConfigError(component.place() + e.what());
    }
  }
}

void check_loss_names(const OptionSet& set, const YAML::Node& written, Diagnostics& diagnostics) {
  if (!diagnostics.empty()) return;
  const Options attach(set.get());
  const auto train = attach.get<std::string>("train_loss"), validation = attach.get<std::string>("val_loss");
  if (!train.empty() && !validation.empty() && train != validation) return;
  diagnostics.error(written, "train_loss and val_loss must be two names, or their values could not be told apart");
}

void check_history(const OptionSet& set, const YAML::Node& written, Diagnostics& diagnostics) {
  if (!diagnostics.empty()) return;
  constexpr int64_t fewest = 4096;
  const auto elements = Options(set.get()).get<int64_t>("history");
  if (elements == 0 || elements >= fewest) return;
  diagnostics.error(value_of(written, "history"), "attach.history is 0, for all elements, or at least " +
                                                      std::to_string(fewest) + ": fewer give too rough an estimate");
}

void check_master_rank(const YAML::Node& attach, Diagnostics& diagnostics) {
  if (!attach.IsMap() || !attach["master_rank"].IsDefined()) return;
  diagnostics.error(attach["master_rank"],
                    "attach.master_rank no longer exists: processes that a launcher started together are one run, "
                    "which rank 0 shows; write 'ranks: off' at the top if each is a separate run");
  diagnostics.throw_if_any();
}

}  // namespace

std::string full_path(const std::string& written, const std::string& folder) {
  if (written.empty()) return folder;
  fs::path path = written;
  if (written == "~" || written.rfind("~/", 0) == 0) {
    path = home_folder() / fs::path(written).lexically_relative("~");
  } else if (written.rfind('~', 0) == 0) {
    throw Error("'" + written +
                "' begins with another user's home folder, which is not looked up; write the whole "
                "path, or './" +
                written + "' if that is its name");
  }
  return (fs::path(folder) / path).lexically_normal().string();
}

std::string working_folder() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return error ? "" : here.string();  // it may have been removed; then paths stay relative
}

Config Config::from_file(const std::string& path) {
  std::string text;
  try {
    text = read_beginning(path, max_yaml_bytes);  // reads more if there is more: from_text reports it
  } catch (const std::system_error&) {
    throw ConfigError(path + ":1:1: error: the file cannot be read; check its path and rights");
  } catch (const Error& reason) {
    throw ConfigError(path + ":1:1: error: the file cannot be read: " + reason.what());
  }
  return from_text(text, path, fs::absolute(path).parent_path().string());
}

Config Config::from_text(const std::string& text, const std::string& file, const std::string& folder,
                         Catalogue catalogue, bool opens_plugins) {
  Config config;
  config.catalogue = std::move(catalogue);
  config.file = file;
  config.text = text;
  std::error_code no_matter;
  config.folder = fs::absolute(folder, no_matter).lexically_normal().string();
  Diagnostics diagnostics(file);
  const YAML::Node root = read_yaml(text, diagnostics);
  if (!root.IsMap()) {
    diagnostics.error(root, "a configuration is a map with the keys loupe, run, attach, lenses, visualizers");
    diagnostics.throw_if_any();
  }
  const YAML::Node& map = root;
  check_is_configuration(map, diagnostics);
  check_keys(map, top_keys, "at the top", diagnostics);
  if (const YAML::Node version = map["loupe"];
      version.IsDefined() && (!version.IsScalar() || version.Scalar() != "1")) {
    diagnostics.error(version, "this Loupe reads configurations of version 1; write 'loupe: 1', or update Loupe");
  }
  if (const YAML::Node policy = map["on_error"]; policy.IsDefined()) {
    const std::string value = policy.IsScalar() ? policy.Scalar() : "";
    if (value != "stop" && value != "quarantine") {
      diagnostics.error(policy, "on_error cannot be '" + value + "'" + suggestion(value, {"quarantine", "stop"}));
    }
    config.stop_on_error = value == "stop";
  }

  config.ranks = read_ranks(map["ranks"], folder, diagnostics);
  check_master_rank(value_of(map, "attach"), diagnostics);

  const auto read_section = [&](const char* name, const YAML::Node& written) {
    return OptionSet::from_yaml(host_section(name), written, name, diagnostics);
  };
  const auto run_set = read_section("run", without_named_tick(value_of(map, "run")));
  config.tick = read_tick(value_of(map, "run"), diagnostics);
  check_run_directory(value_of(map, "run"), diagnostics);
  const auto attach_set = read_section("attach", value_of(map, "attach"));
  config.budget = read_budget(value_of(map, "attach"), diagnostics);
  const auto finding_set = read_section("on_finding", value_of(map, "on_finding"));
  if (const YAML::Node program = map["run_program"]; program.IsDefined()) {
    if (const auto* run = part<FindTable>("run_program is not checked")) run->check(program, diagnostics);
  }
  const auto trace_set = read_section("trace", value_of(map, "trace"));
  check_loss_names(*attach_set, value_of(map, "attach"), diagnostics);
  check_history(*attach_set, value_of(map, "attach"), diagnostics);
  if (opens_plugins) {
    read_plugins(value_of(map, "plugins"), folder, config.catalogue, diagnostics);
  } else {
    config.catalogue.add_standard_paths();
  }
  config.lenses = read_components(value_of(map, "lenses"), Kind::lens, "lenses", config.catalogue, diagnostics);
  config.visualizers =
      read_components(value_of(map, "visualizers"), Kind::visualizer, "visualizers", config.catalogue, diagnostics);
  if (!diagnostics.empty()) tell_problems(config.catalogue, diagnostics);
  diagnostics.throw_if_any();

  const Options run(run_set->get());
  config.run_name = run.get<std::string>("name");
  if (config.run_name.empty()) config.run_name = fs::path(file).stem().string();
  config.has_run_directory = !run.get<std::string>("dir").empty();
  config.run_directory = full_path(run.get<std::string>("dir"), working_folder());
  config.resume = run.get<bool>("resume");
  config.incidents = run.get<int>("incidents");
  const Options trace(trace_set->get());
  config.trace_steps = trace.get<uint64_t>("steps");
  config.trace_after = trace.get<uint64_t>("after");
  config.incident_tensors = run.get<bool>("incident_tensors");
  const Options attach(attach_set->get());
  config.depth = attach.get<int>("depth");
  config.separator = attach.get<std::string>("separator");
  config.active = attach.get<int>("active");
  config.every = attach.get<int>("every");
  config.find = attach.get<bool>("find");
  const auto history = attach.get<int64_t>("history");
  config.history = history > 0 ? history : std::numeric_limits<int64_t>::max();
  config.redirect = attach.get<std::string>("taps") == "auto";
  config.summary = attach.get<bool>("summary");
  config.list_modules = attach.get<bool>("list_modules");
  config.train_loss = attach.get<std::string>("train_loss");
  config.validation_loss = attach.get<std::string>("val_loss");
  const Options on_finding(finding_set->get());
  config.on_info = on_finding.get<std::string>("info");
  config.on_warning = on_finding.get<std::string>("warning");
  config.on_finding_error = on_finding.get<std::string>("error");
  for (auto* components : {&config.lenses, &config.visualizers}) {
    for (const ComponentConfig& each : *components) complete_files(each, folder);
  }
  return config;
}

void Config::join(const Launch& launched) {
  if (!ranks.on || launched.world_size == 1 || launch.world_size > 1) return;
  launch = launched;
  shared_directory = run_directory;
  add_rank_lens();
  if (launch.shows()) return;
  visualizers = of_this_rank(std::move(visualizers));
  run_directory = launch.folder_in(run_directory);
  has_run_directory = true;
}

void Config::add_rank_lens() {
  std::optional<ComponentConfig> ranks = lens_of_host("ranks", nullptr);
  if (ranks && std::none_of(lenses.begin(), lenses.end(), [&](const ComponentConfig& lens) {
        return lens.entry.component == ranks->entry.component;
      }))
    lenses.push_back(*std::move(ranks));
}

std::optional<ComponentConfig> Config::lens_of_host(const std::string& name, const loupe_options* options) const {
  const CatalogueEntry* entry = catalogue.find(Kind::lens, name);
  if (entry == nullptr) return std::nullopt;
  ComponentConfig lens;
  lens.entry = *entry;
  lens.name = name;
  lens.options = OptionSet::from_values(entry->options(), options, "the lens '" + name + "'");
  lens.file = file;
  return lens;
}

std::vector<ComponentConfig> Config::of_this_rank(std::vector<ComponentConfig> visualizers) const {
  if (launch.shows()) return visualizers;
  std::erase_if(visualizers, [](const auto& each) { return each.entry.component->name != std::string_view("record"); });
  return visualizers;
}

const std::string& Config::answer_to(uint32_t severity) const {
  if (severity == LOUPE_SEVERITY_ERROR) return on_finding_error;
  return severity == LOUPE_SEVERITY_WARNING ? on_warning : on_info;
}

std::vector<ComponentConfig> Config::visualizers_from_text(const std::string& text, const Catalogue& catalogue) {
  Diagnostics diagnostics("<visualizers>");
  auto components =
      read_components(read_yaml(text, diagnostics), Kind::visualizer, "visualizers", catalogue, diagnostics);
  diagnostics.throw_if_any();
  return components;
}

}  // namespace loupe
