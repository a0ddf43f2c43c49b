#ifndef LOUPE_REPLAY_PLAYER_H
#define LOUPE_REPLAY_PLAYER_H

#include <loupe/abi.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "replay/audience.h"
#include "replay/record_reader.h"

namespace loupe::replay {

/// Plays one record, whole epochs only, to visualizers. Memory grows with an epoch and with how many names there are,
/// not with the record.
class Player {
 public:
  Player(RecordReader& record, Audience& audience) : record_(record), audience_(audience) {}

  /// From begin to end. The run is called `name`, and its files belong into `directory`. Throws ConfigError about the
  /// record and Error about a visualizer. Returns a sentence on what was left out at the record's end; empty when
  /// nothing was.
  std::string play(const std::string& name, const std::string& directory);

 private:
  /// A value, range or histogram that waits for the end of its epoch.
  struct Told {
    RecordLine::Kind kind;
    const char *tag, *layer, *line, *high_name;
    double low, high;
    std::size_t first_number, bin_count;  // of a histogram, in numbers_
  };

  void take(const RecordLine& line);
  void take_model();
  void take_tag(const RecordLine& line);
  void join_epoch(double epoch);
  void end_epoch();
  void show(const Told& told);
  const char* kept(const std::string& name) { return names_.insert(name).first->c_str(); }
  std::string left_out() const;

  RecordReader& record_;
  Audience& audience_;
  std::unordered_set<std::string> names_, tags_;
  std::vector<Told> told_;
  std::vector<double> numbers_;
  bool in_epoch_ = false;
  double epoch_ = 0;
  std::uint64_t ticks_ = 0;
};

}  // namespace loupe::replay

#endif
