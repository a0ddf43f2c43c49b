#include "command/rank_records.h"

#include <loupe/error.h>
#include <loupe/files/compression.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "command/ranks.h"
#include "command/record_files.h"
#include "command/usage_error.h"
#include "record/record_reader.h"
#include "view/run_state.h"

namespace loupe {
namespace {

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
      empty_ = path;  // of a process that died before its first tick
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
                       "; name its folder, too, for the model, the settings and the findings are in its record");
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
        "a folder of their own");
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

/// Why a rank's file is not of the same run as rank 0's; empty where it is.
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
    throw UsageError("'" + rank.states->file() + "' is of rank " + std::to_string(two.rank) + " of " +
                     std::to_string(two.world_size) + ", and the record beside it of rank " +
                     std::to_string(rank.run.rank) + " of " + std::to_string(rank.run.world_size) +
                     "; put the files of each rank back together");
  if (const std::string reason = difference(*first.states, *rank.states); !reason.empty())
    throw UsageError(name_of(rank) + " is of another run than " + name_of(first) + ": " + reason +
                     "; name the ranks of one run");
  if (one.lenses != two.lenses)
    throw UsageError(name_of(rank) + " ran with other lenses (" + names_in_words(two.lenses) + ") than rank 0 (" +
                     names_in_words(one.lenses) + "), and their numbers cannot be put together");
}

}  // namespace

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

}  // namespace loupe
