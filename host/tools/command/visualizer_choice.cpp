#include "command/visualizer_choice.h"

#include <loupe/error.h>
#include <loupe/files/compression.h>
#include <loupe/options.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include "command/usage_error.h"
#include "core/text.h"
#include "options/diagnostics.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

YAML::Node yaml_value(const std::string& written, const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw UsageError("--option " + written + ": the value is not YAML: " + e.msg);
  }
}

/// Hands `written` to the visualizers that it is meant for.
void set_option(const std::string& written, const std::vector<CatalogueEntry>& chosen,
                std::vector<YAML::Node>& values) {
  const std::size_t equals = written.find('=');
  if (equals == std::string::npos) {
    throw UsageError("--option " + written + ": an option is given as name=value");
  }
  std::string name = written.substr(0, equals);
  const std::size_t dot = name.find('.');
  const std::string visualizer = dot == std::string::npos ? "" : name.substr(0, dot);
  if (dot != std::string::npos) name.erase(0, dot + 1);
  bool taken = false;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!visualizer.empty() && visualizer != chosen[i].component->name) continue;
    for (const loupe_option* option : chosen[i].options()) known.emplace_back(option->name);
    if (!declares(chosen[i], name)) continue;
    values[i][name] = yaml_value(written, written.substr(equals + 1));
    taken = true;
  }
  if (!taken) {
    throw UsageError("--option " + written + ": no visualizer named here has an option '" + name + "'" +
                     suggestion(name, known));
  }
}

}  // namespace

bool declares(const CatalogueEntry& entry, const std::string& option) {
  const OptionTable table = entry.options();
  return std::any_of(table.begin(), table.end(), [&](const loupe_option* each) { return each->name == option; });
}

void VisualizerArguments::add_to(CLI::App& subcommand) {
  subcommand
      .add_option("--option", options,
                  "An option of a visualizer, as name=value or visualizer.name=value; the value is YAML; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  subcommand.add_option("--out", out, "Folder of the visualizers' files (default: the working folder)")
      ->type_name("FOLDER");
  add_force(subcommand, force);
}

std::vector<ComponentConfig> choose_visualizers(const VisualizerArguments& arguments, const Catalogue& catalogue) {
  std::vector<CatalogueEntry> chosen;
  for (const std::string& name : arguments.names) {
    const CatalogueEntry* entry = catalogue.find(Kind::visualizer, name);
    if (entry == nullptr) {
      throw UsageError("there is no visualizer '" + name + "'" + catalogue.hint(Kind::visualizer, name));
    }
    for (const CatalogueEntry& other : chosen) {
      if (other.component == entry->component) throw UsageError("the visualizer '" + name + "' is named twice");
    }
    chosen.push_back(*entry);
  }
  std::vector<YAML::Node> values(chosen.size());
  for (const std::string& option : arguments.options) set_option(option, chosen, values);

  std::vector<ComponentConfig> visualizers;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::string name = chosen[i].component->name;
    Diagnostics diagnostics("--option");
    auto options = OptionSet::from_yaml(chosen[i].options(), values[i], "visualizer '" + name + "'", diagnostics);
    if (!diagnostics.empty()) throw UsageError(diagnostics.messages());
    ComponentConfig& visualizer = visualizers.emplace_back();
    visualizer.entry = chosen[i];
    visualizer.name = name;
    visualizer.options = std::move(options);
  }
  return visualizers;
}

bool all_write_files(const std::vector<ComponentConfig>& visualizers) {
  return std::all_of(visualizers.begin(), visualizers.end(),
                     [](const ComponentConfig& each) { return declares(each.entry, "path"); });
}

void make_out_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(folder.c_str(), W_OK) != 0) error = std::error_code(errno, std::generic_category());
  if (error) {
    throw Error("cannot write into the folder '" + folder + "': " + error.message() + "; choose another with --out");
  }
}

namespace {

/// The stamp of a file. The path may be a link, which does not change.
FileStamp stamp_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? FileStamp::of(status) : FileStamp();
}

/// The files of a path that exist: itself, and those beside it whose names have something more in the middle or at
/// the end.
std::set<fs::path> found_at(const fs::path& path) {
  std::set<fs::path> found;
  std::error_code none;
  if (fs::exists(path, none)) found.insert(path);
  const std::string name = path.filename().string(), stem = path.stem().string() + ".", end = path.extension().string();
  const fs::path folder = path.parent_path();
  for (const fs::directory_entry& each : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, none)) {
    const std::string other = each.path().filename().string();
    const bool goes_on = other.rfind(name + ".", 0) == 0;
    const bool is_longer = !end.empty() && other.size() > name.size() && other.rfind(stem, 0) == 0 &&
                           other.compare(other.size() - end.size(), end.size(), end) == 0;
    if ((goes_on || is_longer) && each.is_regular_file(none)) found.insert(folder / other);
  }
  return found;
}

/// Whether a path leads to that file, under any name.
bool is_at(const fs::path& path, const fs::path& file) {
  std::error_code none;
  if (fs::weakly_canonical(path, none) == fs::weakly_canonical(file, none)) return true;
  const std::set<fs::path> found = found_at(path);
  return std::any_of(found.begin(), found.end(),
                     [&](const fs::path& each) { return fs::equivalent(each, file, none); });
}

}  // namespace

void add_force(CLI::App& command, bool& force) {
  command.add_flag("--force", force, "Overwrite existing files");
}

void keep_existing(const fs::path& path, const std::string& command, bool force) {
  std::error_code none;
  if (!force && fs::is_regular_file(path, none))
    throw UsageError("'" + path.string() + "' is there already, maybe of an earlier 'loupe " + command +
                     "'; overwrite it with --force, or write elsewhere with --out");
}

void OutputFiles::expect(const ComponentConfig& visualizer, const fs::path& folder,
                         const std::vector<std::string>& records) {
  const Options options(visualizer.options->get());
  if (!options.has("path")) return;
  const fs::path path = (folder / options.get<std::string>("path")).lexically_normal();
  for (const std::string& record : records) {
    if (!is_at(path, record) && !is_at(path, text_file_at(record))) continue;
    throw UsageError("the visualizer '" + visualizer.name + "' would write over the record '" + record +
                     "' itself; choose another folder with --out");
  }
  paths_.push_back(path);
  std::error_code none;
  if (fs::is_directory(path, none) && !fs::is_empty(path, none))
    throw UsageError("the folder '" + path.string() + "' has files already, maybe of an earlier 'loupe " + command_ +
                     "', which new ones would mix with; remove it, or write elsewhere with --out");
  for (const fs::path& each : found_at(path)) {
    keep_existing(each, command_, force_);
    before_[each] = stamp_of(each);
  }
}

void OutputFiles::tell(std::ostream& out) const {
  for (const fs::path& path : paths_) {
    for (const fs::path& each : found_at(path)) {
      std::error_code none;
      const auto known = before_.find(each);
      if (known != before_.end() && known->second == stamp_of(each)) continue;
      out << "wrote " << each.string() << (fs::is_directory(each, none) ? "/" : "") << "\n";
    }
  }
}

}  // namespace loupe
