#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "command/rank_records.h"
#include "findings/finding_board.h"
#include "ranks/merged_lenses.h"
#include "record/player.h"

namespace loupe {

/// Puts the numbers of all ranks into rank 0's record while it is played, as the exchange between running processes
/// does. Memory grows with a tick of all ranks, not with their files.
class MergedRun final : public replay::TickEditor {
 public:
  /// @param ranks  rank 0 first  @param shown  to whom the record is played
  MergedRun(std::vector<RankRecord>& ranks, const Config& config, replay::VisualizerGroup& shown);

  bool keeps(const replay::RecordLine& event) override;
  void begin_tick(const loupe_tick& tick) override;
  void row(const loupe_row& row) override { held_->add(row); }
  void histogram(const loupe_histogram& histogram) override { held_->add(histogram); }
  void show_numbers() override;
  void end_tick() override;
  /// Ticks that rank 0 did not come to.
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
  const std::string absent_;  // which ranks left nothing, in words
  FindingBoard findings_;
  RankMessage own_;                  // of the tick at hand
  std::vector<RankMessage> others_;  // the same
  std::unique_ptr<HeldTick> held_;
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> found_;
  std::vector<std::pair<int, std::string>> log_;
};

}  // namespace loupe
