#include <loupe/draft/abi/option_names.h>
#include <loupe/error.h>
#include <loupe/files/compression.h>
#include <loupe/text/number_text.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "command/commands.h"
#include "command/records.h"
#include "command/usage_error.h"
#include "config/settings.h"
#include "config/yaml_text.h"
#include "findings/finding_board.h"
#include "loupe/config_error.h"
#include "ranks/merged_lenses.h"
#include "ranks/merged_ticks.h"
#include "ranks/states_file.h"
#include "record/reader/record_line.h"
#include "record/reader/record_reader.h"
#include "record/run_player.h"
#include "view/run_state.h"

namespace loupe {
namespace {

/// The files of one process of a run.
struct RankRecord {
  std::string record;
  replay::RecordedRun run;
  std::unique_ptr<StatesReader> states;
};

/// Puts the numbers of all ranks into rank 0's record while it is played, as the exchange between running processes
/// does. Memory grows with a tick of all ranks, not with their files.
class MergedRun final : public replay::TickEditor {
 public:
  /// @param ranks  rank 0 first  @param shown  the visualizers to which the record is played
  MergedRun(std::vector<RankRecord>& ranks, const Config& config, replay::VisualizerGroup& shown);

  bool keeps(const replay::RecordLine& event) override;
  void begin_tick(const loupe_tick& tick) override;
  void row(const loupe_row& row) override { held_->add(row); }
  void histogram(const loupe_histogram& histogram) override { held_->add(histogram); }
  void show_numbers() override;
  void end_tick() override;
  /// Shows the ticks that rank 0 did not reach.
  void end(bool has_ended) override;

  /// Lines for the user, with their LOUPE_LOG_.
  const std::vector<std::pair<int, std::string>>& log() const { return log_; }

 private:
  void gather(double epoch);
  std::string reasons_of(const std::set<int>& missing) const;

  std::vector<RankRecord>& ranks_;
  replay::VisualizerGroup& shown_;
  const bool shows_each_;
  MergedLenses lenses_;
  MissingRanks missing_;
  const std::string absent_;  // the ranks without files, in words
  FindingBoard findings_;
  RankMessage own_;                  // the message of rank 0 for the current tick
  std::vector<RankMessage> others_;  // the messages of other ranks for that tick
  std::unique_ptr<HeldTick> held_;
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> found_;
  std::vector<std::pair<int, std::string>> log_;
};

namespace fs = std::filesystem;

bool is_there(const fs::path& record) {
  std::error_code none;
  return fs::is_regular_file(text_file_at(record), none);
}

std::string folder_of(const RankRecord& rank) {
  const fs::path folder = fs::path(rank.record).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string name_of(const RankRecord& rank) {
  return "rank " + std::to_string(rank.run.rank) + " in '" + folder_of(rank) + "'";
}

class RankSearch {
 public:
  void add_path(const std::string& path) {
    std::error_code none;
    if (!fs::exists(path, none) && !is_there(path))
      throw UsageError("there is no '" + path + "'; name the folder of a run, or the folders of its ranks");
    const fs::path file = fs::is_directory(path, none) ? fs::path(path) / record_name : fs::path(path);
    if (is_there(file)) {
      add_record(file.lexically_normal().string());
    } else {
      empty_ = path;  // its process died before its first tick
    }
  }

  std::vector<RankRecord> take() {
    find_rank_0();
    find_others();
    std::sort(ranks_.begin(), ranks_.end(),
              [](const RankRecord& one, const RankRecord& other) { return one.run.rank < other.run.rank; });
    return std::move(ranks_);
  }

 private:
  void add_record(const std::string& file) {
    RankRecord added{file, replay::RecordReader(file).run(), nullptr};
    for (const RankRecord& known : ranks_) {
      std::error_code none;
      if (fs::equivalent(folder_of(known), folder_of(added), none)) return;
      if (known.run.rank == added.run.rank)
        throw UsageError("there are two of rank " + std::to_string(added.run.rank) + ", in '" + folder_of(known) +
                         "' and '" + folder_of(added) + "'; name the ranks of one run");
    }
    ranks_.push_back(std::move(added));
  }

  bool has_rank_0() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const RankRecord& each) { return each.run.rank == 0; });
  }

  void find_rank_0() {
    if (!ranks_.empty() && !has_rank_0()) {
      const fs::path folder = folder_of(ranks_.front());
      const fs::path beside =
          (folder == "." ? fs::path("..") : folder / "..") / fs::path(ranks_.front().record).filename();
      if (is_there(beside)) add_record(beside.lexically_normal().string());
    }
    if (ranks_.empty())
      throw UsageError("the folder '" + empty_ + "' has no " + record_name +
                       "; name the folder of a run whose ranks each have one, by the visualizer 'record'");
    if (!has_rank_0())
      throw UsageError("rank 0 of " + std::to_string(ranks_.front().run.world_size) + " is missing beside " +
                       name_of(ranks_.front()) +
                       "; name its folder, too: the model, the settings and the findings are in its record");
  }

  void find_others() {
    const RankRecord& first =
        *std::find_if(ranks_.begin(), ranks_.end(), [](const RankRecord& each) { return each.run.rank == 0; });
    if (first.run.world_size < 2)
      throw UsageError("'" + first.record + "' is the record of a run of one process, which has nothing to merge");
    const std::vector<std::string> others = other_ranks(first.record, first.run).records;
    for (const std::string& other : others) {
      const int rank = replay::RecordReader(other).run().rank;
      const bool is_known =
          std::any_of(ranks_.begin(), ranks_.end(), [&](const RankRecord& each) { return each.run.rank == rank; });
      if (!is_known) add_record(other);
    }
  }

  std::string empty_;
  std::vector<RankRecord> ranks_;
};

void check_has_ended(const RankRecord& rank) {
  const view::RunStanding standing = view::standing_by_lock(folder_of(rank));
  if (standing.state == view::RunState::running)
    throw UsageError(name_of(rank) + " is still running; merge the run once all of its ranks have ended");
}

void open_states(RankRecord& rank) {
  const fs::path file = states_file_of(rank.record);
  std::error_code none;
  if (!fs::exists(file, none))
    throw UsageError(
        name_of(rank) + " has no '" + file.string() +
        "', which each rank writes beside its record; copy it there, or name the other ranks without it in "
        "their own folder");
  try {
    rank.states = std::make_unique<StatesReader>(file);
  } catch (const Error& e) {
    throw UsageError(std::string(e.what()) + "; the run is merged without this rank once its folder is elsewhere");
  }
}

std::string names_in_words(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

/// Why a rank's file is not of the same run as rank 0's; empty if it is.
std::string difference(const StatesReader& first, const StatesReader& other) {
  const RankHeader &one = first.header(), &two = other.header();
  const auto differ = [](const std::string& what, const std::string& here, const std::string& there) {
    return what + " is '" + there + "' and that of rank 0 '" + here + "'";
  };
  if (one.run != two.run) return differ("its name", one.run, two.run);
  if (one.world_size != two.world_size)
    return differ("its number of ranks", std::to_string(one.world_size), std::to_string(two.world_size));
  if (one.job != two.job) return differ("its job", one.job, two.job);
  constexpr double slack = 10;  // seconds, for clocks that differ
  const auto begins_behind = [](const StatesReader& late, const StatesReader& early) {
    return early.tick() != nullptr && early.tick()->tick.at.time + slack < late.header().start_time;
  };
  if (begins_behind(other, first)) return "it began after the first tick of rank 0";
  if (begins_behind(first, other)) return "its first tick was before rank 0 began";
  return "";
}

void check_is_of_run(const RankRecord& first, const RankRecord& rank) {
  const RankHeader &one = first.states->header(), &two = rank.states->header();
  if (two.rank != rank.run.rank || two.world_size != rank.run.world_size)
    throw UsageError("'" + rank.states->file() + "' belongs to rank " + std::to_string(two.rank) + " of " +
                     std::to_string(two.world_size) + ", but the record beside it to rank " +
                     std::to_string(rank.run.rank) + " of " + std::to_string(rank.run.world_size) +
                     "; put the files of each rank back together");
  if (const std::string reason = difference(*first.states, *rank.states); !reason.empty())
    throw UsageError(name_of(rank) + " belongs to a different run than " + name_of(first) + ": " + reason +
                     "; name the ranks of one run");
  if (one.lenses != two.lenses)
    throw UsageError(name_of(rank) + " ran with other lenses (" + names_in_words(two.lenses) + ") than rank 0 (" +
                     names_in_words(one.lenses) + "), and their numbers cannot be put together");
}

/// The ranks of one run, rank 0 first, then in the order of their numbers; some may be missing.
/// @param paths  folders of ranks, their records, or the folder of the run, which is rank 0's; the other ranks beside
/// rank 0 are found automatically, and so is rank 0 beside the others
/// Throws UsageError for files that cannot be merged, and RecordError for a wrong record.
std::vector<RankRecord> rank_records(const std::vector<std::string>& paths) {
  RankSearch search;
  for (const std::string& path : paths) search.add_path(path);
  std::vector<RankRecord> ranks = search.take();
  for (RankRecord& rank : ranks) {
    check_has_ended(rank);
    open_states(rank);
    check_is_of_run(ranks.front(), rank);
  }
  return ranks;
}

RunDescription described(const RankRecord& first, const Config& config) {
  const replay::RecordedRun& recorded = first.run;
  RunDescription run;
  run.name = recorded.name;
  run.directory = std::filesystem::path(first.record).parent_path().string();  // wherever it was recorded
  run.config = bounded_config(recorded);
  run.settings = settings_of(run.config);
  run.lenses = recorded.lenses;
  run.start_time = recorded.start_time;
  run.world_size = recorded.world_size;
  run.train_loss = config.train_loss;
  run.validation_loss = config.validation_loss;
  return run;
}

std::set<int> ranks_there(const std::vector<RankRecord>& ranks) {
  std::set<int> there;
  for (const RankRecord& rank : ranks) there.insert(rank.run.rank);
  return there;
}

/// "rank 2 has no record here"; empty if all have one.
std::string absent_ranks(const std::vector<RankRecord>& ranks) {
  const std::set<int> there = ranks_there(ranks);
  std::vector<int> absent;
  for (int rank = 0; rank < ranks.front().run.world_size; ++rank) {
    if (there.count(rank) == 0) absent.push_back(rank);
  }
  if (absent.empty()) return "";
  return detail::list_of_ranks(absent) + (absent.size() > 1 ? " have" : " has") + " no record here";
}

MergedRun::MergedRun(std::vector<RankRecord>& ranks, const Config& config, replay::VisualizerGroup& shown)
    : ranks_(ranks),
      shown_(shown),
      shows_each_(config.ranks.shows_each),
      lenses_(config, described(ranks.front(), config)),
      missing_(ranks.front().run.world_size, ranks_there(ranks)),
      absent_(absent_ranks(ranks)) {}

/// Leaves out messages about all processes: the merged lenses report these again.
bool MergedRun::keeps(const replay::RecordLine& event) {
  if (event.kind == replay::RecordLine::Kind::note) return event.about != LOUPE_NOTE_RANKS;
  return !lenses_.speaks_for_all(event.source);
}

/// The data of ranks for an epoch. The record lacks their data for earlier ones.
void MergedRun::gather(double epoch) {
  own_ = {};
  others_.clear();
  for (RankRecord& rank : ranks_) {
    StatesReader& states = *rank.states;
    const bool is_first = rank.run.rank == 0;
    while (states.tick() != nullptr && states.tick()->tick.at.epoch < epoch) states.next();
    for (ModuleDescription& module : states.take_modules()) lenses_.add_module(std::move(module));
    if (states.tick() == nullptr || states.tick()->tick.at.epoch != epoch) continue;
    if (is_first) {
      own_ = states.tick()->message;
    } else {
      others_.push_back(states.tick()->message);
    }
    states.next();
  }
}

std::string MergedRun::reasons_of(const std::set<int>& missing) const {
  if (missing.empty()) return absent_;
  return absent_ + (absent_.empty() ? "" : "; ") +
         detail::list_of_ranks(std::vector<int>(missing.begin(), missing.end())) +
         (missing.size() > 1 ? " have" : " has") + " no numbers of it";
}

void MergedRun::begin_tick(const loupe_tick& tick) {
  gather(tick.at.epoch);
  held_ = std::make_unique<HeldTick>(tick);
  std::vector<int> there = own_.ranks;
  for (const RankMessage& other : others_) there.insert(there.end(), other.ranks.begin(), other.ranks.end());
  const std::string note =
      missing_.note(there, tick.at.epoch, [&](const std::set<int>& missing) { return reasons_of(missing); });
  if (note.empty()) return;
  log_.emplace_back(LOUPE_LOG_WARNING, note);
  shown_.tell(
      &loupe_visualizer::note,
      loupe_note{.struct_size = sizeof(loupe_note), .kind = LOUPE_NOTE_RANKS, .text = note.c_str(), .at = tick.at});
}

void MergedRun::show_numbers() {
  lenses_.merge(own_, true);
  lenses_.join(own_, others_);
  MergedLenses::Report merged = lenses_.report(held_->tick());
  take_over(*held_, std::move(*merged.tick));
  if (shows_each_) own_.add_furthest_to(*held_);
  found_ = std::move(merged.findings);
  for (auto& line : lenses_.take_log()) log_.push_back(std::move(line));
  for (const HeldTick::Told& told : held_->told()) {
    if (auto* const* row = std::get_if<loupe_row*>(&told)) {
      shown_.tell(&loupe_visualizer::row, **row);
    } else if (auto* const* histogram = std::get_if<loupe_histogram*>(&told)) {
      shown_.tell(&loupe_visualizer::histogram, **histogram);
    }
  }
}

void MergedRun::end_tick() {
  const loupe_tick& tick = held_->tick();
  for (const auto& finding : found_) {
    if (const loupe_finding* shown = findings_.add(finding->get(), tick.at.step, tick.at.epoch))
      shown_.tell(&loupe_visualizer::finding, *shown);
  }
  found_.clear();
}

void MergedRun::end(bool has_ended) {
  const double last = held_ ? held_->tick().at.epoch : 0;
  for (;;) {
    const RankRecord* next = nullptr;
    for (const RankRecord& rank : ranks_) {
      const RankTick* tick = rank.states->tick();
      if (tick == nullptr || (next != nullptr && tick->tick.at.epoch >= next->states->tick()->tick.at.epoch)) continue;
      next = &rank;
    }
    if (next == nullptr) break;
    const loupe_tick tick = next->states->tick()->tick;
    // A record with an end of its run has all ticks that rank 0 wanted in it.
    if (tick.at.epoch <= last || (has_ended && next->run.rank == 0)) {
      gather(tick.at.epoch);
      continue;
    }
    begin_tick(tick);
    shown_.tell(&loupe_visualizer::begin_tick, held_->tick());
    show_numbers();
    shown_.tell(&loupe_visualizer::end_tick);
    end_tick();
  }
  for (const RankRecord& rank : ranks_) {
    if (!rank.states->fault().empty()) log_.emplace_back(LOUPE_LOG_WARNING, rank.states->fault());
  }
}

void open_no_files(const ComponentConfig& component) {
  for (const loupe_option* option : component.entry.options()) {
    if ((option->flags & LOUPE_DRAFT_OPTION_FILE) != 0) component.options->set_text(option->name, "");
  }
}

/// The configuration that the ranks ran with.
Config config_of(const RankHeader& header, const std::vector<std::string>& paths) {
  Catalogue catalogue;
  for (const std::string& path : paths) catalogue.add_path(path);
  try {
    // Anybody may have written it: no file that it names is opened.
    Config config = Config::from_text(header.config, header.config_file, header.config_folder, std::move(catalogue),
                                      /*opens_plugins=*/false);
    for (auto* components : {&config.lenses, &config.visualizers}) {
      for (const ComponentConfig& each : *components) open_no_files(each);
    }
    config.join({header.rank, header.world_size});
    return config;
  } catch (const ConfigError& e) {
    throw ConfigError(std::string(e.what()) +
                      "\nthis is the configuration that the ranks ran with; the plugins in its plugins.path are not "
                      "opened, as anybody may have written it: give plugins by --plugins");
  }
}

/// Removes lenses that write files to places that the recorded configuration names.
void leave_out_writers(Config& config, std::ostream& errors) {
  std::string names;
  for (const ComponentConfig& lens : config.lenses) {
    if (declares(lens.entry, "path")) names += (names.empty() ? "'" : ", '") + lens.name + "'";
  }
  if (names.empty()) return;
  std::erase_if(config.lenses, [](const ComponentConfig& lens) { return declares(lens.entry, "path"); });
  errors << "loupe: " << names << ": lenses that write files: only rank 0's numbers are shown\n";
}

/// Reports plugins that the recorded configuration names, because they are not opened.
void tell_plugins(const Config& config, std::ostream& errors) {
  std::string paths;
  Diagnostics none(config.file);
  const YAML::Node plugins = value_of(read_yaml(config.text, none), "plugins");
  const YAML::Node written = plugins.IsMap() ? value_of(plugins, "path") : plugins;
  const auto add = [&](const YAML::Node& path) {
    if (path.IsScalar()) paths += (paths.empty() ? "'" : ", '") + path.Scalar() + "'";
  };
  add(written);
  if (written.IsSequence()) std::for_each(written.begin(), written.end(), add);
  if (!paths.empty())
    errors
        << "loupe: plugins.path of the run's configuration names " << paths
        << ", which is not opened, as anybody may have written it; if it has plugins of yours, give it by --plugins\n";
}

}  // namespace

CLI::App* Merge::add_to(CLI::App& app) {
  CLI::App* subcommand =
      app.add_subcommand("merge",
                         "Merge the folders of a run's processes into one record and one report with the "
                         "numbers of all ranks");
  subcommand
      ->add_option("ranks", ranks,
                   "Folder of the run, for example runs/digits, or those of its ranks, runs/digits/rank-*")
      ->required()
      ->type_name("FOLDER");
  subcommand->add_option("-o,--out", out, "Folder of the merged run (default: 'merged' in the folder of the run)")
      ->type_name("FOLDER");
  return subcommand;
}

void Merge::run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& told,
                std::ostream& errors) const {
  std::vector<RankRecord> records = rank_records(ranks);
  const RankRecord& first = records.front();
  const fs::path folder = out.empty() ? fs::path(first.record).parent_path() / merged_folder_name : fs::path(out);
  std::error_code none;
  // A link in a run's folder may lead anywhere; a link that --out names is the user's.
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
  replay::RunPlayer player(reader, shown);
  player.set_editor(merged);
  const std::string left_out = player.play(first.run.name, folder.string());
  for (const auto& [level, line] : merged.log())
    errors << "loupe: " << (level >= LOUPE_LOG_WARNING ? "warning: " : "") << line << "\n";
  if (!left_out.empty()) errors << "loupe: warning: " << left_out << "\n";
  written.tell(told);
}

}  // namespace loupe
