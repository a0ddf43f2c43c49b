#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/launch.h"
#include "core/shared.h"
#include "loader/catalogue.h"
#include "options/option_set.h"

namespace loupe {

/// When a tick comes: `run.tick`.
struct TickRule {
  enum class By { epoch, steps, seconds };
  By by = By::epoch;
  uint64_t steps = 0;
  double seconds = 0;
  std::string of;  ///< the model whose optimizer's steps count; empty: the first attached

  bool is_automatic() const { return by != By::epoch; }
  /// "500 steps", "30 seconds", "epoch".
  std::string words() const;
};

/// How the processes of one run find each other: `ranks`.
struct RankRule {
  bool on = true;           ///< processes started together are one run
  bool exchange = true;     ///< through a store; else each keeps its own for `loupe merge`
  std::string folder;       ///< the folder of a store in files; absolute; empty for none
  double timeout = 10;      ///< seconds that a tick waits for other ranks
  bool shows_each = false;  ///< also show the most deviating rank
};

/// One lens or visualizer as the YAML names it.
struct ComponentConfig {
  CatalogueEntry entry;
  std::string name;  ///< the component's, or its own by `as`
  bool renamed = false;
  std::unique_ptr<OptionSet> options;
  int line = 1, column = 1;  ///< its position in the file
  std::string file;
  int active = 1;          ///< a lens measures every n-th tick
  bool is_written = true;  ///< false for a default configuration: no warning if it watches nothing

  /// "file:line:column: error: "
  std::string place() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": error: "; }
};

/// A whole configuration, checked.
struct Config {
  std::string file, text;
  std::string folder;  ///< absolute; where relative paths in the text start
  std::string run_name;
  bool has_run_directory = false;  ///< false: the working directory, which many runs may share
  std::string run_directory;       ///< absolute, so that the trainer may change its working directory
  std::string shared_directory;    ///< the folder of the process that shows the run, once this one has joined
  bool resume = false;
  TickRule tick;
  int depth = -1;
  std::string separator = ".";
  int active = 1;
  int every = 1;              ///< measure one step in this number
  int64_t history = 65536;    ///< elements per tensor compared with earlier events
  double budget = 0;          ///< the share of the time that measuring may take; 0: any
  bool find = false;          ///< find losses and optimizers even if some are attached
  bool redirect = true;       ///< taps: auto; false for `explicit`
  bool summary = true;        ///< a line at attach about tapped modules
  bool list_modules = false;  ///< one line per module at attach
  std::string train_loss, validation_loss;
  RankRule ranks;
  Launch launch;  ///< this process among those of the run, once it has joined
  bool stop_on_error = false;
  std::string on_info = "tell", on_warning = "tell", on_finding_error = "tell";  ///< tell, stop, throw or dump
  /// The answer of `on_finding` to a severity LOUPE_SEVERITY_.
  const std::string& answer_to(uint32_t severity) const;
  uint64_t trace_steps = 0, trace_after = 10;  ///< the number of traced steps, and of steps before them
  int incidents = 3;                           ///< the most incidents: this many at findings, and this many on request
  bool incident_tensors = false;  ///< an incident also has the parameters and gradients of the blamed module
  Catalogue catalogue;
  std::vector<ComponentConfig> lenses, visualizers;

  /// Makes this process one of a run of several, if `ranks` says so; once. Processes that do not show the run keep only
  /// the visualizer `record`, in their own folder. All get the lens `ranks`, unless the configuration names it.
  LOUPE_SHARED void join(const Launch& launched);
  /// The visualizers that this process keeps.
  std::vector<ComponentConfig> of_this_rank(std::vector<ComponentConfig> visualizers) const;
  /// A lens that the host adds itself; nullopt if no plugin has it.
  /// @param options  may be null
  std::optional<ComponentConfig> lens_of_host(const std::string& name, const loupe_options* options) const;
  /// Reads and checks a file. Throws ConfigError with every fault found. Problems with plugins that nothing asked for
  /// are left in catalogue.problems().
  LOUPE_SHARED static Config from_file(const std::string& path);
  /// The same from text; `file` names it in messages, relative plugin paths start at `folder`. The components of
  /// `catalogue` come first.
  /// @param opens_plugins  false if anybody may have written it: only those of `catalogue` and of the standard paths
  LOUPE_SHARED static Config from_text(const std::string& text, const std::string& file, const std::string& folder,
                                       Catalogue catalogue = {}, bool opens_plugins = true);
  /// A list of visualizers on its own, as YAML text.
  static std::vector<ComponentConfig> visualizers_from_text(const std::string& text, const Catalogue& catalogue);

 private:
  void add_rank_lens();
};

/// Resolves a path of a configuration: '~/' is the home folder, a relative path starts at `folder`, which is absolute
/// and the result for an empty path. Throws Error for '~name', and if there is no home folder.
std::string full_path(const std::string& written, const std::string& folder);

/// The current working directory; the trainer may change it later.
LOUPE_SHARED std::string working_folder();

}  // namespace loupe
