#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <iosfwd>
#include <string>
#include <vector>

#include "command/visualizer_choice.h"
#include "loader/catalogue.h"
#include "record/reader/record_reader.h"
#include "record/run_summary.h"

// One struct per subcommand: its fields are its arguments, `add_to` declares them and must be called on an object that
// outlives the parsing, and `run` does the work. Each is in the .cpp file of its name.
namespace loupe {

/// Prints a line for each component, by kind: name and description.
/// @param with_files  also print a line with its file
void list_components(const Catalogue& catalogue, bool with_files, std::ostream& out);

/// Every plugin by file: name, version, description, author, license and homepage, as far as it has them.
void list_plugins(const Catalogue& catalogue, std::ostream& out);

/// The plugins that a run loaded, from its record or folder. Throws UsageError if they are unknown.
void list_loaded(const std::string& run, std::ostream& out);

/// A JSON Schema (draft 7) of the configuration, with every component of the catalogue.
void write_schema(const Catalogue& catalogue, std::ostream& out);
/// Prints every component of that name (or the configuration's own keys, for "config") with its options, its results
/// and an example. False, and a message to `errors`, if there is none.
bool describe_component(const Catalogue& catalogue, const std::string& name, std::ostream& out, std::ostream& errors);

/// `loupe explain`: the meaning of the plots that lenses show.
struct Explain {
  std::string tag;  ///< "" lists all
  bool as_glossary = false;

  CLI::App* add_to(CLI::App& app);
  /// Explains the plot of that name; else all plots whose names begin with it, or else contain it. Case does not
  /// matter. False, and a message to `errors`, if there is none.
  /// @param paths further folders or files with plugins
  bool run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
           std::ostream& errors) const;
};

/// `loupe new KIND NAME`: a folder with a plugin that builds, and a test of it that passes.
class New {
 public:
  /// Adds the command; this outlives the parsing.
  CLI::App* add_to(CLI::App& app);
  /// Throws UsageError for a name that no plugin can have, or a folder that exists already.
  void run(std::ostream& out) const;

 private:
  std::string kind_, name_, folder_;
  bool plain_c_ = false;
};

/// `loupe run`: another program, watched; `loupe trace`: a few of its steps traced, too.
struct RunProgram {
  bool traces = false;
  int steps = 3;  ///< the number of traced steps
  std::string config, folder, name, follow = "yes";
  bool required = false, every_step = false;
  std::vector<std::string> program;  ///< the program with its arguments

  CLI::App* add_to(CLI::App& app);
  /// Removes the program and its arguments from the end of a command line, since they belong to the program, whatever
  /// they look like. Returns the number of remaining arguments. Call it after `add_to`.
  int take_program(int count, char** arguments);
  /// Becomes the program; returns only if that fails, with the exit code of a shell: 126 or 127. Throws ConfigError for
  /// a wrong configuration, and UsageError if nothing can be watched although that is required.
  int run(std::ostream& errors) const;

 private:
  CLI::App* subcommand_ = nullptr;
};

/// `loupe replay`: one record to visualizers, as if its run took place again, or an incident as text or a page.
struct Replay {
  std::string record;
  VisualizerArguments visualizers;

  CLI::App* add_to(CLI::App& app);
  /// Prints an incident to `out`, and data left out at the record's end to `errors`. Throws UsageError, RecordError for
  /// a wrong record or incident, and Error when a visualizer fails.
  void run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;

 private:
  void replay_incident(const Catalogue& catalogue, std::ostream& out) const;
};

/// `loupe merge`: joins the folders of a run's processes into one run with the numbers of all.
struct Merge {
  std::vector<std::string> ranks;
  std::string out;  ///< the merged run's folder; empty: "merged" in the run's

  CLI::App* add_to(CLI::App& app);
  /// The written files go to `out`; missing ranks and dropped data go to `errors`. Throws UsageError for records that
  /// cannot be merged, RecordError for a wrong record, ConfigError for a wrong configuration, and Error when a
  /// visualizer fails.
  /// @param paths  further folders or files with plugins
  void run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
           std::ostream& errors) const;
};

/// `loupe compare`: finds which of several runs is best, and how they differ. Plays their records to the same
/// visualizers, one run after the other. The first run's files go to the folder itself, where `html` then shows all
/// runs in one report; each other run has a folder of its name in it.
struct Compare {
  std::vector<std::string> records;
  std::vector<std::string> names;
  std::string baseline;  ///< the name of the run that the others are compared with; may be empty
  bool follow = false;   ///< continue until every run has ended
  bool csv = false;      ///< write all values as one table instead
  bool port = false;     ///< compare two records of fingerprints instead, tensor by tensor
  std::string map;       ///< for `port`, a file that lists which modules are the same; may be empty
  VisualizerArguments visualizers;

  CLI::App* add_to(CLI::App& app);
  /// Prints the comparison, wrapped as for standard output, and the written files to `out`; data left out at a record's
  /// end goes to `errors`. With `follow` it returns once every record has its run's end, or upon Ctrl-C. Returns the
  /// exit code, which may differ from 0 only with `port`. Throws UsageError, RecordError for a wrong record, and Error
  /// when a visualizer fails.
  int run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;

 private:
  /// The results of playing all records.
  struct Played {
    std::vector<replay::RunSummary> results;
    std::vector<std::string> states;  ///< the state of each run, in words
    std::string left_out;
  };
  using Readers = std::deque<replay::RecordReader>;
  std::string folder_of(std::size_t run, const std::vector<std::string>& shown) const;
  Played play(const std::vector<ComponentConfig>& chosen, Readers& readers,
              const std::vector<std::string>& shown) const;
  Played play_until_ended(const Catalogue& catalogue, const VisualizerArguments& arguments, const ComponentConfig& html,
                          const std::vector<std::string>& files, const std::vector<std::string>& shown) const;
};

/// `loupe diagnose`: the findings of past runs, and the rules applied to their values.
struct Diagnose {
  std::vector<std::string> records;
  std::string baseline;           ///< a file that `loupe learn` wrote; empty for none
  std::string baseline_findings;  ///< a file of known findings, as JSON of this command; empty for none
  bool as_json = false;

  CLI::App* add_to(CLI::App& app);
  /// Data left out at a record's end goes to `errors`. Returns whether no run ever had an error; with known findings,
  /// whether all findings that are worse than information are among them. Throws ConfigError for a wrong record or
  /// baseline, before anything is written.
  bool run(std::ostream& out, std::ostream& errors) const;
};

/// `loupe learn`: the ranges of the series of good runs, for comparison with later runs.
struct Learn {
  std::vector<std::string> records;
  std::string file;
  bool force = false;  ///< whether the file may be there already

  CLI::App* add_to(CLI::App& app);
  /// Warnings about the records go to `errors`. Throws RecordError for a wrong record, UsageError if nothing can be
  /// learned, and std::system_error when the file cannot be written; nothing is written then.
  void run(std::ostream& out, std::ostream& errors) const;
};

}  // namespace loupe
