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

// One struct a subcommand: its fields are its arguments, `add_to` declares them and must be called on an object that
// outlives the parsing, and `run` does the work. Each is in the .cpp file of its name.
namespace loupe {

/// A line a component, by kind: name and what it is.
/// @param with_files  also a line with the file that it is from
void list_components(const Catalogue& catalogue, bool with_files, std::ostream& out);

/// Every plugin by file: name, version, description, author, license and homepage, as far as it tells them.
void list_plugins(const Catalogue& catalogue, std::ostream& out);

/// The plugins that a run loaded, from its record or folder. Throws UsageError if they are unknown.
void list_loaded(const std::string& run, std::ostream& out);

/// A JSON Schema (draft 7) of the configuration, with every component of the catalogue.
void write_schema(const Catalogue& catalogue, std::ostream& out);
/// Every component of that name (or the configuration's own keys, for "config") with its options, what it gives and an
/// example. False, and a message to `errors`, when there is none.
bool describe_component(const Catalogue& catalogue, const std::string& name, std::ostream& out, std::ostream& errors);

/// `loupe explain`: the meaning of the plots that lenses show.
struct Explain {
  std::string tag;  ///< "" lists all
  bool as_glossary = false;

  CLI::App* add_to(CLI::App& app);
  /// Explains the plot of that name, all whose names begin with it or else have it within; case does not matter. False,
  /// and a message to `errors`, when there is none.
  /// @param paths further folders or files with plugins
  bool run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
           std::ostream& errors) const;
};

/// `loupe new KIND NAME`: a folder with a plugin that builds, and a test of it that passes.
class New {
 public:
  /// Adds the command; this outlives the parsing.
  CLI::App* add_to(CLI::App& app);
  /// Throws UsageError for a name that no plugin can have or a folder that is there already.
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
  std::vector<std::string> program;  ///< with its arguments

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
  /// An incident goes to `out`, what was left out at the record's end to `errors`. Throws UsageError, RecordError for a
  /// wrong record or incident, and Error when a visualizer fails.
  void run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;

 private:
  void replay_incident(const Catalogue& catalogue, std::ostream& out) const;
};

/// `loupe merge`: joins the folders of a run's processes into one run with the numbers of all.
struct Merge {
  std::vector<std::string> ranks;
  std::string out;  ///< the merged run's folder; empty: "merged" in the run's

  CLI::App* add_to(CLI::App& app);
  /// The written files go to `out`; missing ranks and dropped data go to `errors`. Throws UsageError for what cannot be
  /// put together, RecordError for a wrong record, ConfigError for a wrong configuration, and Error when a visualizer
  /// fails.
  /// @param paths  further folders or files with plugins
  void run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
           std::ostream& errors) const;
};

/// `loupe compare`: which of several runs is best, and what was different; their records go to the same visualizers,
/// one run after the other. The first run's files belong into the folder itself, where `html` then shows all runs in
/// one report; each other run has a folder in it, of its name.
struct Compare {
  std::vector<std::string> records;
  std::vector<std::string> names;
  std::string baseline;  ///< the name of the run that the others are compared with; may be empty
  bool follow = false;   ///< go on until every run has ended
  bool csv = false;      ///< write all values as one table instead
  bool port = false;     ///< compare two records of fingerprints instead, tensor by tensor
  std::string map;       ///< for that, a file that says which modules are the same; may be empty
  VisualizerArguments visualizers;

  CLI::App* add_to(CLI::App& app);
  /// `out` gets the comparison, wrapped as for standard output, and what was written. What was left out at a record's
  /// end goes to `errors`. With `follow` it returns once every record has its run's end, or upon Ctrl-C. Returns the
  /// exit code, which only that of `port` may make other than 0. Throws UsageError, RecordError for a wrong record, and
  /// Error when a visualizer fails.
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
  /// What was left out at a record's end goes to `errors`. Returns whether no run ever had an error, or, beside known
  /// findings, anything worse than information that is not among them. Throws ConfigError
  /// for a wrong record or baseline, before anything is written.
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
