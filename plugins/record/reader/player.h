#pragma once

#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "record/reader/finding_history.h"
#include "record/reader/record_reader.h"

namespace loupe::replay {

/// Plays one record, whole epochs only, to a visualizer. Memory grows with an epoch and with how many names there are,
/// not with the record.
class Player {
 public:
  /// @param to  throws what ends the play
  Player(RecordReader& record, Visualizer& to) : record_(record), to_(to) {}
  virtual ~Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// The part before epoch `before`, to who has begun already: tags, whole epochs, notes and findings; findings that
  /// still stand are ended. No models, settings or ending. Throws RecordError.
  /// @param with_events notes and findings too
  void play_history(double before, bool with_events);
  /// The findings of the record; known once it was played.
  const FindingHistory& findings() const { return findings_; }

 protected:
  /// The next line of the record.
  void take(const RecordLine& line);
  /// The record has no more lines: what a run said last, in an epoch that was not finished, may be why it ended.
  void show_last_events();
  /// Events that wait, where no epoch has begun.
  void show_events();
  void tell_event(const RecordLine& line);
  /// A sentence on what was left out at the record's end; empty when nothing was.
  std::string left_out() const;
  RecordReader& record() const { return record_; }
  bool is_in_epoch() const { return in_epoch_; }
  double epoch() const { return epoch_; }
  FindingHistory& findings() { return findings_; }
  /// How the run ended, while that is the record's last line.
  const std::optional<RecordLine>& ending() const { return ending_; }

  // What one who plays more than a history does with further lines.
  /// A run that goes on. It broke off here, maybe in the midst of an epoch.
  virtual void take_run() { forget_epoch(); }
  virtual void take_model() {}
  virtual void take_hyperparameter() {}
  /// Whether to play a finding or note.
  virtual bool keeps(const RecordLine&) { return with_events_; }

 private:
  /// A value, range, histogram, finding or note that waits for the end of its epoch.
  struct Told {
    RecordLine::Kind kind;
    const char *tag, *layer, *line, *high_name;
    double low, high;
    std::uint64_t events, step;
    std::size_t first_number, bin_count;  // of a histogram, in numbers_
    std::shared_ptr<RecordLine> event;    // a finding or note: all of it
  };

  void take_tag(const RecordLine& line);
  void join_epoch(double epoch);
  void end_epoch(const RecordLine& tick);
  void forget_epoch();
  void show(const Told& told);
  const char* kept(const std::string& name) { return names_.insert(name).first->c_str(); }

  RecordReader& record_;
  Visualizer& to_;
  std::unordered_set<std::string> names_, tags_;
  std::vector<Told> told_;
  std::vector<double> numbers_;
  FindingHistory findings_;
  bool in_epoch_ = false, with_events_ = true;
  double epoch_ = 0, before_ = std::numeric_limits<double>::infinity();  // the latter of a history
  std::uint64_t ticks_ = 0;
  std::optional<RecordLine> ending_;
};

/// The name in messages.
std::string epoch_text(double epoch);

}  // namespace loupe::replay
