#include "command/merged_run.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "config/settings.h"

namespace loupe {
namespace {

RunDescription described(const RankRecord& first, const Config& config) {
  const replay::RecordedRun& recorded = first.run;
  RunDescription run;
  run.name = recorded.name;
  run.directory = std::filesystem::path(first.record).parent_path().string();  // wherever it was recorded
  run.config = recorded.config;
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

/// "rank 2 has no record here"; empty where all have one.
std::string absent_ranks(const std::vector<RankRecord>& ranks) {
  const std::set<int> there = ranks_there(ranks);
  std::vector<int> absent;
  for (int rank = 0; rank < ranks.front().run.world_size; ++rank) {
    if (there.count(rank) == 0) absent.push_back(rank);
  }
  if (absent.empty()) return "";
  return detail::list_of_ranks(absent) + (absent.size() > 1 ? " have" : " has") + " no record here";
}

}  // namespace

MergedRun::MergedRun(std::vector<RankRecord>& ranks, const Config& config, replay::VisualizerGroup& shown)
    : ranks_(ranks),
      shown_(shown),
      shows_each_(config.ranks.shows_each),
      lenses_(config, described(ranks.front(), config)),
      missing_(ranks.front().run.world_size, ranks_there(ranks)),
      absent_(absent_ranks(ranks)) {}

/// What the processes said together while they ran is said anew.
bool MergedRun::keeps(const replay::RecordLine& event) {
  if (event.kind == replay::RecordLine::Kind::note) return event.about != LOUPE_NOTE_RANKS;
  return !lenses_.speaks_for_all(event.source);
}

/// What ranks have of an epoch. What they have of earlier ones, the record lacks.
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
  held_->take_over(std::move(*merged.tick));
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
    // A record that says how its run ended has all ticks that rank 0 wanted in it.
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

}  // namespace loupe
