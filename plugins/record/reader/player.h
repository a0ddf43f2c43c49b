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

/// Replays the complete epochs of one record to a visualizer. The memory grows with the size of an epoch and the number
/// of names, but not with the record.
class Player {
 public:
  /// @param to  an exception that it throws ends the replay
  Player(RecordReader& record, Visualizer& to) : record_(record), to_(to) {}
  virtual ~Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Replays the part before epoch `before` to a visualizer that was begun already: tags, complete epochs, notes and
  /// findings; then ends findings that are still open. No models, settings or ending. Throws RecordError.
  /// @param with_events whether to replay notes and findings
  void play_history(double before, bool with_events);
  /// The findings of the record; complete after the replay.
  const FindingHistory& findings() const { return findings_; }

 protected:
  /// Takes the next line of the record.
  void take(const RecordLine& line);
  /// Shows events after the last complete epoch at the end of the record: they may be the reason for the end.
  void show_last_events();
  /// Shows waiting events if no epoch has begun.
  void show_events();
  void tell_event(const RecordLine& line);
  /// A sentence on the lines that were left out at the record's end; "" if none were.
  std::string left_out() const;
  RecordReader& record() const { return record_; }
  bool is_in_epoch() const { return in_epoch_; }
  double epoch() const { return epoch_; }
  FindingHistory& findings() { return findings_; }
  /// The line on how the run ended, if it is the last one so far.
  const std::optional<RecordLine>& ending() const { return ending_; }

  // Hooks for derived classes that replay further lines.
  /// The run was resumed here, maybe after it broke off within an epoch.
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
    std::size_t first_number, bin_count;  // a histogram's place in numbers_, and the number of its bins
    std::shared_ptr<RecordLine> event;    // the whole line of a finding or note
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
