#include "command/commands.h"

#include <loupe/error.h>
#include <loupe/options.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "command/follow.h"
#include "command/record_files.h"
#include "command/usage_error.h"
#include "replay/player.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::size_t last_parts(const fs::path& path, std::size_t count, std::string& text) {
  const std::vector<fs::path> parts(path.begin(), path.end());
  fs::path last;
  for (std::size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) last /= parts[i];
  text = last.string();
  return parts.size();
}

/// The shortest ends of the paths that are all different; the whole paths where some are equal.
Names distinct_ends(const std::vector<fs::path>& paths) {
  Names ends(paths.size());
  for (std::size_t count = 1;; ++count) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      longest = std::max(longest, last_parts(paths[i], count, ends[i]));
    }
    Names sorted = ends;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() || count >= longest) return ends;
  }
}

/// Records are mostly called the same, and their folders tell them apart.
std::vector<fs::path> telling_paths(const Names& files) {
  std::vector<fs::path> paths;
  bool same_file_name = true;
  for (const std::string& file : files) {
    paths.push_back(fs::absolute(file).lexically_normal());
    same_file_name = same_file_name && paths.back().filename() == paths.front().filename();
  }
  if (same_file_name) {
    for (fs::path& path : paths) path = path.parent_path();
  }
  return paths;
}

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

}  // namespace

std::vector<std::string> distinct_names(const Names& names, const Names& files) {
  Names distinct = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::size_t> equal;
    Names paths;
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (names[j] != names[i]) continue;
      equal.push_back(j);
      paths.push_back(files[j]);
    }
    if (equal.size() < 2 || equal.front() != i) continue;
    const Names ends = distinct_ends(telling_paths(paths));
    for (std::size_t j = 0; j < equal.size(); ++j) distinct[equal[j]] += " (" + ends[j] + ")";
  }
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    // The same record twice, or a name that looks like another's with its folder.
    const std::string name = distinct[i];
    const auto earlier = distinct.begin() + static_cast<std::ptrdiff_t>(i);
    for (int count = 2; std::find(distinct.begin(), earlier, distinct[i]) != earlier; ++count) {
      distinct[i] = name + " " + std::to_string(count);
    }
  }
  return distinct;
}

CLI::App* Compare::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand("compare", "Shows the records of several runs in one report");
  subcommand
      ->add_option("records", records,
                   "The records, folders of runs, or folders of those, in the order to show them in")
      ->required();
  visualizers.names = {"html"};
  subcommand->add_option("--visualizer", visualizers.names, "Where to show them; html unless given; repeatable")
      ->allow_extra_args(false);
  subcommand->add_option("--names", names, "The runs' names, with commas between; else as their records say")
      ->delimiter(',')
      ->allow_extra_args(false);
  subcommand->add_option("--baseline", baseline, "The name of the run that the report compares the others with");
  subcommand->add_flag("--follow", follow,
                       "Write the report anew whenever a record has grown, until all runs have ended, or Ctrl-C");
  visualizers.add_to(*subcommand);
  return subcommand;
}

/// As --option takes it, whatever the text holds.
static std::string option_text(const std::string& name, const std::string& value) {
  YAML::Emitter quoted;
  quoted << YAML::DoubleQuoted << value;
  return name + "=" + quoted.c_str();
}

static bool takes_baseline(const ComponentConfig& visualizer) {
  const OptionTable table = visualizer.entry.options();
  return std::any_of(table.begin(), table.end(),
                     [](const loupe_option* each) { return each->name == std::string("baseline"); });
}

static void check_baseline(const std::string& baseline, const std::vector<ComponentConfig>& chosen,
                           const Names& shown) {
  if (std::none_of(chosen.begin(), chosen.end(), takes_baseline)) {
    throw UsageError("--baseline is for a visualizer that shows differences to it; name one: --visualizer html");
  }
  if (std::find(shown.begin(), shown.end(), baseline) != shown.end()) return;
  std::string all;
  for (const std::string& name : shown) all += (all.empty() ? "'" : ", '") + name + "'";
  throw UsageError("--baseline names no run '" + baseline + "'; the runs are " + all);
}

Compare::Told Compare::play(const std::vector<ComponentConfig>& chosen, Readers& readers, const Names& shown) const {
  replay::VisualizerGroup group(chosen);
  Told told;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const fs::path folder = i == 0 ? fs::path(visualizers.out) : fs::path(visualizers.out) / folder_name(shown[i]);
    replay::Player player(readers[i], group);
    const std::string left_out = player.play(shown[i], folder.string());
    if (!left_out.empty()) told.left_out += "loupe: warning: " + left_out + "\n";
    told.any_findings = told.any_findings || !player.findings().empty();
    told.all_ended = told.all_ended && player.has_ended();
    told.counts += shown[i] + ": " + player.findings().counts() + "\n";
  }
  return told;
}

Compare::Told Compare::play_until_ended(const Catalogue& catalogue, const VisualizerArguments& arguments,
                                        const ComponentConfig& html, const Names& files, const Names& shown) const {
  if (arguments.names != Names{"html"}) {
    throw UsageError("--follow writes the same files again and again, which suits a report alone; leave out " +
                     std::string("--follow, or every --visualizer but html"));
  }
  const fs::path report = fs::path(visualizers.out) / Options(html.options->get()).get<std::string>("path");
  // A report is written after each of its runs; its reader is to see all of them or what there was before.
  const fs::path unfinished = report.parent_path() / ("." + report.filename().string() + ".unfinished");
  VisualizerArguments own = arguments;
  own.options.push_back(option_text("html.path", fs::absolute(unfinished).string()));
  const auto chosen = choose_visualizers(own, files, catalogue);

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
    // A long record takes long to play; most of the time is the trainers'.
    if (told.all_ended || !records.wait(interruption, 4 * (std::chrono::steady_clock::now() - begun))) return told;
  }
}

void Compare::run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const {
  const Names files = record_files(records);
  if (!names.empty()) check_names(names, files.size());
  auto chosen = choose_visualizers(visualizers, files, catalogue);
  Readers readers;
  Names recorded;
  for (const std::string& record : files) recorded.push_back(readers.emplace_back(record).run().name);
  const Names shown = names.empty() ? distinct_names(recorded, files) : names;
  VisualizerArguments arguments = visualizers;
  if (!baseline.empty()) {
    check_baseline(baseline, chosen, shown);
    arguments.options.push_back(option_text("baseline", baseline));
    chosen = choose_visualizers(arguments, files, catalogue);
  }

  make_out_folder(visualizers.out);
  const Told told =
      follow ? play_until_ended(catalogue, arguments, chosen.front(), files, shown) : play(chosen, readers, shown);
  errors << told.left_out;
  if (told.any_findings) out << told.counts;
}

}  // namespace loupe
