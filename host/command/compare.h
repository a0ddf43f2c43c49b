#ifndef LOUPE_COMMAND_COMPARE_H
#define LOUPE_COMMAND_COMPARE_H

#include <CLI/CLI.hpp>
#include <deque>
#include <iosfwd>
#include <string>
#include <vector>

#include "command/visualizer_choice.h"
#include "replay/record_reader.h"

namespace loupe {

/// `loupe compare`: several records to the same visualizers, one run after the other. The first run's files belong into
/// the folder itself, where `html` then shows all runs in one report; each other run has a folder in it, of its name.
struct Compare {
  std::vector<std::string> records;
  std::vector<std::string> names;
  std::string baseline;  ///< the name of the run that the others are compared with; may be empty
  bool follow = false;   ///< go on until every run has ended
  VisualizerArguments visualizers;

  CLI::App* add_to(CLI::App& app);
  /// Where a run had findings, `out` gets a line a run with how many. What was left out at a record's end goes to
  /// `errors`. With `follow` it returns when every record tells of its run's end, or upon Ctrl-C. Throws UsageError,
  /// ConfigError for a wrong record, and Error when a visualizer fails.
  void run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;

 private:
  /// What a play of all records told, in words, and whether each has its run's end.
  struct Told {
    std::string counts, left_out;
    bool any_findings = false, all_ended = true;
  };
  using Readers = std::deque<replay::RecordReader>;
  Told play(const std::vector<ComponentConfig>& chosen, Readers& readers, const std::vector<std::string>& shown) const;
  Told play_until_ended(const Catalogue& catalogue, const VisualizerArguments& arguments, const ComponentConfig& html,
                        const std::vector<std::string>& files, const std::vector<std::string>& shown) const;
};

/// Each run's name, with what tells its record's path from the others' behind it where names are equal.
std::vector<std::string> distinct_names(const std::vector<std::string>& names, const std::vector<std::string>& files);

}  // namespace loupe

#endif
