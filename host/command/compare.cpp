#include "command/commands.h"

#include <loupe/error.h>
#include <loupe/options.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "command/comparison.h"
#include "command/follow.h"
#include "command/output_files.h"
#include "command/reading_progress.h"
#include "command/record_files.h"
#include "command/run_names.h"
#include "command/usage_error.h"
#include "command/value_table.h"
#include "core/wrapping.h"
#include "port/tell_departure.h"
#include "record/player.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// A file that is not to stay.
struct OwnFile {
  fs::path path;
  ~OwnFile() {
    std::error_code none;
    fs::remove(path, none);
  }
};

std::string folder_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name.empty() || name[0] == '.' ? "run" + name : name;
}

void check_names(const Names& names, std::size_t records) {
  if (names.size() != records) {
    throw UsageError("--names gives " + std::to_string(names.size()) + " names for " + std::to_string(records) +
                     " records; give one for each");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      throw UsageError("--names gives the name '" + names[i] + "' twice; runs of one name cannot be told apart");
    }
  }
}

/// As --option takes it, whatever the text holds.
std::string option_text(const std::string& name, const std::string& value) {
  YAML::Emitter quoted;
  quoted << YAML::DoubleQuoted << value;
  return name + "=" + quoted.c_str();
}

/// Whether it shows all runs in one file, and how they differ.
bool shows_together(const ComponentConfig& visualizer) {
  return declares(visualizer.entry, "baseline");
}

/// A file is written only where its folder is named.
void need_folder(const std::vector<ComponentConfig>& chosen) {
  for (const ComponentConfig& each : chosen) {
    if (!declares(each.entry, "path")) continue;
    throw UsageError("the visualizer '" + std::string(each.entry.component->name) +
                     "' writes files, and none is written without a folder for them; name it: --out FOLDER");
  }
}

/// The name under which the baseline is shown, which may be given in full.
std::string shown_baseline(const std::string& baseline, const Names& in_full, const Names& shown) {
  for (const Names* names : {&shown, &in_full}) {
    const auto found = std::find(names->begin(), names->end(), baseline);
    if (found != names->end()) return shown[static_cast<std::size_t>(found - names->begin())];
  }
  std::string all;
  for (const std::string& name : shown) all += (all.empty() ? "'" : ", '") + name + "'";
  throw UsageError("--baseline names no run '" + baseline + "'; the runs are " + all);
}

}  // namespace

CLI::App* Compare::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand(
      "compare", "Says which of several runs is best and what was different, and shows them in one report");
  subcommand
      ->add_option("records", records,
                   "The records, folders of runs, or folders of those, in the order to show them in")
      ->required()
      ->type_name("FILE");
  visualizers.out.clear();  // no file is written without it
  subcommand->add_option("--visualizer", visualizers.names, "Where to show them; html unless given; repeatable")
      ->allow_extra_args(false)
      ->type_name("VISUALIZER");
  subcommand
      ->add_option(
          "--names", names,
          "The runs' names, with commas between; else what differs of those in their records or of their folders")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  subcommand->add_option("--baseline", baseline, "The name of the run that the report compares the others with")
      ->type_name("NAME");
  subcommand->add_flag("--follow", follow,
                       "Write the report anew whenever a record has grown, until all runs have ended, or Ctrl-C");
  visualizers.add_to(*subcommand);
  subcommand->get_option("--out")->description("The folder of the report; without it, no file is written");
  CLI::Option* table = subcommand->add_flag(
      "--csv", csv,
      "Print the values of all runs as one table instead: run, tag, layer, line, epoch, step and value, as Python's "
      "loupe.read_all() has them");
  for (CLI::Option* each : subcommand->get_options([](const CLI::Option* each) { return each->nonpositional(); })) {
    if (each != table && each != subcommand->get_help_ptr() && each->get_name() != "--names") table->excludes(each);
  }
  const auto others = subcommand->get_options([](const CLI::Option* each) { return each->nonpositional(); });
  CLI::Option* ports = subcommand->add_flag(
      "--port", port,
      "Say where a port first departs from its original, of two records of the lens 'fingerprint' or of "
      "loupe_record.py; exits with 1 where it does");
  for (CLI::Option* each : others) {
    if (each != subcommand->get_help_ptr()) ports->excludes(each);  // nothing is shown or written
  }
  subcommand->add_option("--map", map, "With --port, a YAML file that says which modules are the same")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->needs(ports);
  return subcommand;
}

std::string Compare::folder_of(std::size_t run, const Names& shown) const {
  const fs::path out = visualizers.out.empty() ? "." : visualizers.out;
  return (run == 0 ? out : out / folder_name(shown[run])).string();
}

Compare::Told Compare::play(const std::vector<ComponentConfig>& chosen, Readers& readers, const Names& shown) const {
  replay::VisualizerGroup group(chosen);
  ReadingProgress progress(readers.size(), all_write_files(chosen));
  Told told;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    RunResult& result = told.results.emplace_back(readers[i].run());
    progress.begin(readers[i].file());
    replay::Player player(readers[i], group);
    player.set_on_line([&](const replay::RecordLine& line) {
      result.take(line, readers[i].text());
      progress.take(line);
    });
    const std::string left_out = player.play(shown[i], folder_of(i, shown));
    if (!left_out.empty()) told.left_out += "loupe: warning: " + left_out + "\n";
  }
  return told;
}

Compare::Told Compare::play_until_ended(const Catalogue& catalogue, const VisualizerArguments& arguments,
                                        const ComponentConfig& html, const Names& files, const Names& shown) const {
  if (arguments.names != Names{"html"}) {
    throw UsageError("--follow writes the same files again and again, which suits a report alone; leave out " +
                     std::string("--follow, or every --visualizer but html"));
  }
  const fs::path report = fs::path(folder_of(0, shown)) / Options(html.options->get()).get<std::string>("path");
  // A report is written after each of its runs; its reader is to see all of them or what there was before.
  const fs::path unfinished = report.parent_path() / ("." + report.filename().string() + ".unfinished");
  VisualizerArguments own = arguments;
  own.options.push_back(option_text("html.path", fs::absolute(unfinished).string()));
  const auto chosen = choose_visualizers(own, catalogue);

  const OwnFile removed{unfinished};
  const Interruption interruption;
  GrowingFiles records(files);
  for (;;) {
    const auto begun = std::chrono::steady_clock::now();
    records.look();
    Readers readers(files.begin(), files.end());
    Told told = play(chosen, readers, shown);
    std::error_code error;
    fs::rename(unfinished, report, error);
    if (error) {
      throw Error("cannot write the report '" + report.string() + "': " + error.message() +
                  "; choose another folder with --out");
    }
    const bool all_ended =
        std::all_of(told.results.begin(), told.results.end(), [](const RunResult& each) { return each.has_ended(); });
    // A long record takes long to play; most of the time is the trainers'.
    if (all_ended || !records.wait(interruption, 4 * (std::chrono::steady_clock::now() - begun))) return told;
  }
}

int Compare::run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const {
  if (port) {
    if (records.size() != 2)
      throw UsageError("--port compares two records, and got " + std::to_string(records.size()) +
                       "; name the original's and the port's");
    return port::tell_departure(records[0], records[1], map, out);
  }
  const Names files = record_files(records);
  if (!names.empty()) check_names(names, files.size());
  if (csv) {
    Names recorded;
    for (const std::string& record : files) recorded.push_back(replay::RecordReader(record).run().name);
    write_value_table(files, names.empty() ? distinct_names(recorded, files) : names, out, errors);
    return 0;
  }
  VisualizerArguments arguments = visualizers;
  if (arguments.names.empty()) arguments.names = {"html"};
  const bool shows = !visualizers.out.empty() || !visualizers.names.empty() || !visualizers.options.empty() ||
                     !baseline.empty() || follow;
  auto chosen = shows ? choose_visualizers(arguments, catalogue) : std::vector<ComponentConfig>();
  if (visualizers.out.empty()) need_folder(chosen);
  Readers readers;
  Names recorded;
  for (const std::string& record : files) recorded.push_back(readers.emplace_back(record).run().name);
  const Names in_full = names.empty() ? distinct_names(recorded, files) : names;
  const Names shown = names.empty() ? shortened_names(in_full) : names;
  if (!baseline.empty()) {
    if (std::none_of(chosen.begin(), chosen.end(), shows_together))
      throw UsageError("--baseline is for a visualizer that shows differences to it; name one: --visualizer html");
    arguments.options.push_back(option_text("baseline", shown_baseline(baseline, in_full, shown)));
    chosen = choose_visualizers(arguments, catalogue);
  }
  OutputFiles written("compare", visualizers.force);
  for (const ComponentConfig& each : chosen) {
    const std::size_t runs = shows_together(each) ? 1 : files.size();
    for (std::size_t i = 0; i < runs; ++i) written.expect(each, folder_of(i, shown), files);
  }

  if (!visualizers.out.empty()) make_out_folder(visualizers.out);
  const Told told =
      follow ? play_until_ended(catalogue, arguments, chosen.front(), files, shown) : play(chosen, readers, shown);
  tell_comparison(shown, told.results, output_columns(), out);
  written.tell(out);
  if (!shows) out << "for a report with all curves: --out FOLDER\n";
  errors << told.left_out;
  return 0;
}

}  // namespace loupe
