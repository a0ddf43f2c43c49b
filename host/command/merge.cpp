#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>

#include "command/commands.h"
#include "command/merged_run.h"
#include "command/output_files.h"
#include "command/rank_records.h"
#include "command/ranks.h"
#include "command/usage_error.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

/// The configuration that the ranks ran with.
Config config_of(const RankHeader& header, const std::vector<std::string>& paths) {
  Catalogue catalogue;
  for (const std::string& path : paths) catalogue.add_path(path);
  try {
    Config config = Config::from_record(header.config, header.config_file, header.config_folder, std::move(catalogue));
    config.join({header.rank, header.world_size});
    return config;
  } catch (const ConfigError& e) {
    throw ConfigError(std::string(e.what()) +
                      "\nthis is the configuration that the ranks ran with; what its plugins.path names is not opened, "
                      "as anybody may have written it: give plugins by --plugins");
  }
}

/// Takes out lenses that write files, as the recorded configuration says where.
void leave_out_writers(Config& config, std::ostream& errors) {
  std::string names;
  for (const ComponentConfig& lens : config.lenses) {
    if (declares(lens.entry, "path")) names += (names.empty() ? "'" : ", '") + lens.name + "'";
  }
  if (names.empty()) return;
  std::erase_if(config.lenses, [](const ComponentConfig& lens) { return declares(lens.entry, "path"); });
  errors << "loupe: " << names << ": of what writes files of its own the numbers of rank 0 are shown\n";
}

/// Nothing where all that the run was watched with is known here.
void tell_plugins(const Config& config, std::ostream& errors) {
  std::string paths;
  for (const std::string& path : config.foreign_plugins) paths += (paths.empty() ? "'" : ", '") + path + "'";
  if (!paths.empty())
    errors << "loupe: plugins.path of the run's configuration names " << paths
           << ", which is not opened, as anybody may have written it; where plugins of yours are there, give it by "
              "--plugins\n";
}

}  // namespace

CLI::App* Merge::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand("merge",
                                            "Puts the folders of a run's processes together: one record and one report "
                                            "with the numbers of all ranks, as a run "
                                            "whose ranks reach each other has them");
  subcommand
      ->add_option("ranks", ranks,
                   "The run's folder, such as runs/digits, or those of its ranks, such as runs/digits/rank-*")
      ->required()
      ->type_name("FOLDER");
  subcommand->add_option("-o,--out", out, "The merged run's folder; 'merged' in the run's own unless given")
      ->type_name("FOLDER");
  return subcommand;
}

void Merge::run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& told,
                std::ostream& errors) const {
  std::vector<RankRecord> records = rank_records(ranks);
  const RankRecord& first = records.front();
  const fs::path folder = out.empty() ? fs::path(first.record).parent_path() / merged_folder_name : fs::path(out);
  std::error_code none;
  // A link that lies in a run's folder may lead anywhere; one that is named by --out is the user's.
  const bool is_link = out.empty() && fs::is_symlink(folder, none);
  if (is_link || (fs::exists(folder, none) && !(fs::is_directory(folder, none) && fs::is_empty(folder, none))))
    throw UsageError("'" + folder.string() +
                     "' is there already, maybe of an earlier 'loupe merge'; remove it, or write elsewhere with --out");
  Config config = config_of(first.states->header(), paths);
  tell_plugins(config, errors);
  leave_out_writers(config, errors);
  VisualizerArguments arguments;
  arguments.names = {"console", "record", "html"};
  const std::vector<ComponentConfig> chosen = choose_visualizers(arguments, catalogue);
  OutputFiles written("merge", false);
  for (const ComponentConfig& each : chosen) written.expect(each, folder, {});
  replay::RecordReader reader(first.record);
  make_out_folder(folder.string());
  replay::VisualizerGroup shown(chosen);
  MergedRun merged(records, config, shown);
  replay::Player player(reader, shown);
  player.set_editor(merged);
  const std::string left_out = player.play(first.run.name, folder.string());
  for (const auto& [level, line] : merged.log())
    errors << "loupe: " << (level >= LOUPE_LOG_WARNING ? "warning: " : "") << line << "\n";
  if (!left_out.empty()) errors << "loupe: warning: " << left_out << "\n";
  written.tell(told);
}

}  // namespace loupe
