#ifndef LOUPE_CORE_CONFIG_H
#define LOUPE_CORE_CONFIG_H

#include <memory>
#include <string>
#include <vector>

#include "core/catalogue.h"
#include "core/option_set.h"

namespace loupe {

/// One lens or visualizer as the YAML names it.
struct ComponentConfig {
  CatalogueEntry entry;
  std::string name;  ///< the component's, or its own by `as`
  bool renamed = false;
  std::unique_ptr<OptionSet> options;
  int line = 1, column = 1;  ///< where it stands in the file
  std::string file;

  /// "file:line:column: error: "
  std::string place() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": error: "; }
};

/// A whole configuration, checked.
struct Config {
  std::string file, text;
  std::string run_name, run_directory;
  bool resume = false;
  int depth = -1;
  std::string separator = ".";
  int active = 1;
  bool redirect = true;       ///< taps: auto; false for `explicit`
  bool list_modules = false;  ///< one line a module at attach
  std::string train_loss, validation_loss;
  bool master = true;  ///< false in a process of another rank than `master_rank`: it has no lenses and visualizers
  bool stop_on_error = false;
  Catalogue catalogue;
  std::vector<ComponentConfig> lenses, visualizers;

  /// Reads and checks a file. Throws ConfigError with every fault found. Problems with plugins that nothing asked for
  /// are left in catalogue.problems().
  static Config from_file(const std::string& path);
  /// The same from text; `file` names it in messages, relative plugin paths start at `folder`.
  static Config from_text(const std::string& text, const std::string& file, const std::string& folder);
  /// A list of visualizers on its own, as YAML text.
  static std::vector<ComponentConfig> visualizers_from_text(const std::string& text, const Catalogue& catalogue);
};

/// The options that the host itself reads, by section ("run", "attach"), declared as components declare theirs.
const std::vector<std::pair<std::string, OptionTable>>& host_sections();

}  // namespace loupe

#endif
