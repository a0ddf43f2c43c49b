#include "core/config.h"

#include <loupe/detail/option_table.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/log.h"
#include "core/suggestion.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> top_keys = {"loupe", "run", "attach", "plugins", "lenses", "visualizers", "on_error"};

void check_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& where,
                Diagnostics& diagnostics) {
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      diagnostics.error(entry.first, "unknown key '" + key + "' " + where + suggestion(key, known));
    } else if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      diagnostics.error(entry.first, "the key '" + key + "' stands twice " + where + "; keep one");
    }
    seen.push_back(key);
  }
}

/// yaml-cpp's word for a key that is not there throws at most questions; this one is null.
YAML::Node value_of(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  return found.IsDefined() ? found : YAML::Node(YAML::NodeType::Null);
}

/// What stands in the YAML for one component: `name`, or `name: {options}`, either with `as: own_name` beside it.
struct Written {
  YAML::Node at, options;
  std::string name, own_name;
};

bool read_item(const YAML::Node& item, const std::string& section, Written& written, Diagnostics& diagnostics) {
  if (item.IsScalar()) {
    written = {item, YAML::Node(YAML::NodeType::Null), item.Scalar(), ""};
    return true;
  }
  if (!item.IsMap()) {
    diagnostics.error(item, "an entry of '" + section + "' must be a name, or a name with a map of options");
    return false;
  }
  for (const auto& entry : item) {
    const std::string key = entry.first.Scalar();
    if (key == "as") {
      const bool is_name = entry.second.IsScalar() && !entry.second.Scalar().empty();
      if (!is_name || !written.own_name.empty()) {
        diagnostics.error(entry.first, "'as' must be given one name, to call this entry of '" + section + "' by");
        return false;
      }
      written.own_name = entry.second.Scalar();
    } else if (written.name.empty()) {
      written.name = key;
      written.at = entry.first;
      written.options = entry.second;
    } else {
      diagnostics.error(entry.first, "'" + key + "' stands in the same entry as '" + written.name +
                                         "'; begin a new one with '- ', or indent it as an option");
      return false;
    }
  }
  if (written.name.empty()) diagnostics.error(item, "an entry of '" + section + "' names no component");
  return !written.name.empty();
}

/// Options that name another component, and maps with that one's options: what is in them is known to be right only
/// here, where all components are.
void check_named_components(const CatalogueEntry& entry, const YAML::Node& written, const Catalogue& catalogue,
                            Diagnostics& diagnostics) {
  const auto value = [&](const loupe_option& option) {
    const YAML::Node given = written.IsMap() ? value_of(written, option.name) : YAML::Node(YAML::NodeType::Null);
    return given.IsNull() ? YAML::Load(option.default_value) : given;
  };
  std::map<std::string, const CatalogueEntry*> named;
  for (const loupe_option* option : entry.options()) {
    if (!LOUPE_OFFERS(*option, names)) continue;
    const auto kind = kind_of(option->names);
    const YAML::Node name = value(*option);
    if (!kind || !name.IsScalar() || name.Scalar().empty()) continue;
    named[option->name] = catalogue.find(*kind, name.Scalar());
    if (named[option->name] != nullptr) continue;
    diagnostics.error(name, std::string("there is no ") + kind_name(*kind) + " '" + name.Scalar() + "'" +
                                suggestion(name.Scalar(), catalogue.names(*kind)));
  }
  for (const loupe_option* option : entry.options()) {
    const auto of = LOUPE_OFFERS(*option, options_of) ? named.find(option->options_of) : named.end();
    if (of == named.end() || of->second == nullptr) continue;
    const YAML::Node options = value(*option);
    if (!options.IsMap()) continue;
    OptionSet::from_yaml(of->second->options(), options, "'" + std::string(of->second->component->name) + "'",
                         diagnostics);
  }
}

std::vector<ComponentConfig> read_components(const YAML::Node& list, Kind kind, const std::string& section,
                                             const Catalogue& catalogue, Diagnostics& diagnostics) {
  std::vector<ComponentConfig> components;
  if (list.IsNull()) return components;
  if (!list.IsSequence()) {
    diagnostics.error(list, "'" + section + "' must be a list");
    return components;
  }
  for (const YAML::Node& item : list) {
    Written written;
    if (!read_item(item, section, written, diagnostics)) continue;
    const CatalogueEntry* entry = catalogue.find(kind, written.name);
    if (entry == nullptr) {
      diagnostics.error(written.at, std::string("unknown ") + kind_name(kind) + " '" + written.name + "'" +
                                        suggestion(written.name, catalogue.names(kind)));
      continue;
    }
    const bool renamed = !written.own_name.empty();
    const std::string name = renamed ? written.own_name : entry->component->name;
    const bool taken =
        std::any_of(components.begin(), components.end(), [&](const auto& each) { return each.name == name; });
    if (taken) {
      diagnostics.error(written.at, std::string("the ") + kind_name(kind) + " '" + name +
                                        "' is used twice; give each a name of its own with 'as: name' beside it");
      continue;
    }
    auto options = OptionSet::from_yaml(entry->options(), written.options,
                                        std::string(kind_name(kind)) + " '" + written.name + "'", diagnostics);
    const bool doubled =
        kind == Kind::visualizer && std::any_of(components.begin(), components.end(), [&](const auto& each) {
          return each.entry.component == entry->component && each.options->key() == options->key();
        });
    if (doubled) {
      diagnostics.error(written.at, "this visualizer does what another '" + written.name +
                                        "' does already, to the same file; give it other options, such as a path");
      continue;
    }
    components.push_back({*entry, name, renamed, std::move(options), written.at.Mark().line + 1,
                          written.at.Mark().column + 1, diagnostics.file()});
    check_named_components(*entry, written.options, catalogue, diagnostics);
  }
  return components;
}

std::vector<YAML::Node> written_plugin_paths(const YAML::Node& plugins, Diagnostics& diagnostics) {
  std::vector<YAML::Node> paths;
  if (plugins.IsNull()) return paths;
  if (!plugins.IsMap()) {
    diagnostics.error(plugins, "'plugins' must be a map with a 'path'");
    return paths;
  }
  check_keys(plugins, {"path"}, "of 'plugins'", diagnostics);
  const YAML::Node written = plugins["path"];
  if (!written.IsDefined()) return paths;
  if (!written.IsSequence()) return {written};
  for (const YAML::Node& path : written) paths.push_back(path);
  return paths;
}

void read_plugin_paths(const YAML::Node& plugins, const std::string& folder, Catalogue& catalogue,
                       Diagnostics& diagnostics) {
  for (const YAML::Node& path : written_plugin_paths(plugins, diagnostics)) {
    if (!path.IsScalar() || path.Scalar().empty()) {
      diagnostics.error(path, "plugins.path must be a folder or file, or a list of them");
      continue;
    }
    const fs::path full = fs::path(folder) / path.Scalar();
    // A path that the user wrote must work; what merely lies in a folder may fail on its own.
    const std::size_t before = catalogue.problems().size();
    catalogue.add_path(full.string());
    if (!fs::is_directory(full)) {
      for (std::size_t i = before; i < catalogue.problems().size(); ++i)
        diagnostics.error(path, catalogue.problems()[i]);
    }
  }
  catalogue.add_standard_paths();
}

/// What is unknown in a configuration may be so because its plugin could not be used.
void tell_problems(const Catalogue& catalogue, const Diagnostics& diagnostics) {
  const std::string told = diagnostics.text();
  for (const std::string& problem : catalogue.problems()) {
    if (told.find(problem) == std::string::npos) log(LOUPE_LOG_WARNING, problem);
  }
}

const detail::OptionStorage& run_options() {
  static const detail::OptionStorage options({
      {"name", "", "the run's name; the file's when empty"},
      {"dir", "", "where visualizers put their files"},
      {"resume", false, "go on in the same directory instead of starting anew"},
  });
  return options;
}

const detail::OptionStorage& attach_options() {
  static const detail::OptionStorage options({
      {"depth", -1, "how deep to look: -1 the leaves, 0 the model itself, n cut there", -1, 1e6},
      {"separator", ".", "what stands between the parts of a layer's name"},
      {"active", 1, "look at every n-th epoch only", 1, 1e6},
      {"taps", "auto", "auto, or explicit: only loupe::Tapped modules", {"auto", "explicit"}},
      {"list_modules", false, "print one line a module at attach"},
      {"train_loss", "train_loss", "the name of the training loss"},
      {"val_loss", "val_loss", "the name of the validation loss"},
      {"master_rank", -1, "the one process that looks, of those that RANK tells apart; -1: each looks", -1, 1e6},
  });
  return options;
}

void check_loss_names(const OptionSet& set, const YAML::Node& written, Diagnostics& diagnostics) {
  if (!diagnostics.empty()) return;
  const Options attach(set.get());
  const auto train = attach.get<std::string>("train_loss"), validation = attach.get<std::string>("val_loss");
  if (!train.empty() && !validation.empty() && train != validation) return;
  diagnostics.error(written, "train_loss and val_loss must be two names, or their values could not be told apart");
}

/// Whether a launcher of several processes (torchrun, MPI, Slurm) says that this is another one than `rank`.
bool is_other_rank(int rank) {
  for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* own = std::getenv(variable);
    if (own != nullptr && *own != '\0') return std::to_string(rank) != own;
  }
  return false;
}

/// What is written, as one document; an alias in it may stand for something that contains it.
YAML::Node load(const std::string& text, Diagnostics& diagnostics) {
  constexpr int deepest = 100;
  const std::function<void(const YAML::Node&, int)> check = [&](const YAML::Node& node, int depth) {
    if (!node.IsMap() && !node.IsSequence()) return;
    if (depth > deepest) {
      diagnostics.error(node, "this is nested more than " + std::to_string(deepest) +
                                  " deep; an alias (*name) that stands inside of what it names has no end");
      diagnostics.throw_if_any();
    }
    for (const auto& each : node) check(node.IsMap() ? each.second : YAML::Node(each), depth + 1);
  };
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      diagnostics.error(documents[1], "a second document begins here ('---'); a configuration is one");
      diagnostics.throw_if_any();
    }
    if (documents.empty()) return YAML::Node();
    check(documents[0], 0);
    return documents[0];
  } catch (const YAML::Exception& e) {
    diagnostics.error(e.mark, "this is no YAML: " + e.msg);
    diagnostics.throw_if_any();
    throw;
  }
}

}  // namespace

const std::vector<std::pair<std::string, OptionTable>>& host_sections() {
  static const std::vector<std::pair<std::string, OptionTable>> sections = {
      {"run", {run_options().pointers(), run_options().size()}},
      {"attach", {attach_options().pointers(), attach_options().size()}},
  };
  return sections;
}

Config Config::from_file(const std::string& path) {
  std::ifstream stream(path);
  if (!stream || fs::is_directory(path))
    throw ConfigError(path + ":1:1: error: the file cannot be read; check its path and rights");
  std::ostringstream text;
  text << stream.rdbuf();
  return from_text(text.str(), path, fs::absolute(path).parent_path().string());
}

Config Config::from_text(const std::string& text, const std::string& file, const std::string& folder) {
  Config config;
  config.file = file;
  config.text = text;
  Diagnostics diagnostics(file);
  const YAML::Node root = load(text, diagnostics);
  if (!root.IsMap()) {
    diagnostics.error(root, "a configuration is a map with the keys loupe, run, attach, lenses, visualizers");
    diagnostics.throw_if_any();
  }
  const YAML::Node& map = root;
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

  const auto& sections = host_sections();
  const auto run_set = OptionSet::from_yaml(sections[0].second, value_of(map, "run"), "run", diagnostics);
  const auto attach_set = OptionSet::from_yaml(sections[1].second, value_of(map, "attach"), "attach", diagnostics);
  check_loss_names(*attach_set, value_of(map, "attach"), diagnostics);
  read_plugin_paths(value_of(map, "plugins"), folder, config.catalogue, diagnostics);
  config.lenses = read_components(value_of(map, "lenses"), Kind::lens, "lenses", config.catalogue, diagnostics);
  config.visualizers =
      read_components(value_of(map, "visualizers"), Kind::visualizer, "visualizers", config.catalogue, diagnostics);
  if (!diagnostics.empty()) tell_problems(config.catalogue, diagnostics);
  diagnostics.throw_if_any();

  const Options run(run_set->get());
  config.run_name = run.get<std::string>("name");
  if (config.run_name.empty()) config.run_name = fs::path(file).stem().string();
  config.run_directory = run.get<std::string>("dir");
  config.resume = run.get<bool>("resume");
  const Options attach(attach_set->get());
  config.depth = attach.get<int>("depth");
  config.separator = attach.get<std::string>("separator");
  config.active = attach.get<int>("active");
  config.redirect = attach.get<std::string>("taps") == "auto";
  config.list_modules = attach.get<bool>("list_modules");
  config.train_loss = attach.get<std::string>("train_loss");
  config.validation_loss = attach.get<std::string>("val_loss");
  const int master_rank = attach.get<int>("master_rank");
  config.master = master_rank < 0 || !is_other_rank(master_rank);
  if (!config.master) {
    config.lenses.clear();
    config.visualizers.clear();
  }
  return config;
}

std::vector<ComponentConfig> Config::visualizers_from_text(const std::string& text, const Catalogue& catalogue) {
  Diagnostics diagnostics("<visualizers>");
  auto components = read_components(load(text, diagnostics), Kind::visualizer, "visualizers", catalogue, diagnostics);
  diagnostics.throw_if_any();
  return components;
}

}  // namespace loupe
