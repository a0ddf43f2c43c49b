#ifndef LOUPE_REPLAY_RECORD_LINE_H
#define LOUPE_REPLAY_RECORD_LINE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loupe::replay {

/// One line of a record, taken apart. Of the members, those that the kind has are set.
struct RecordLine {
  enum class Kind { run, model, tag, value, range, histogram, tick };
  Kind kind = Kind::run;
  std::string tag, layer, line;     // value, histogram; a range has low_name and high_name for `line`
  std::string low_name, high_name;  // range
  double epoch = 0;                 // value, range, histogram, tick
  double value = 0, low = 0, high = 0;
  std::vector<double> edges, counts;  // histogram: edges ascend, and are one more than the counts
  std::uint32_t tag_type = 0;         // tag: LOUPE_TAG_NUMERICAL, …
  bool log_y = false, big = false, annotate = false;
  double y_minimum = 0, y_maximum = 0;  // NaN: as the data wants
};

/// Takes apart what the visualizer `record` wrote. `line` keeps its memory from call to call. Throws Error with what is
/// wrong, without its place.
void parse_record_line(std::string_view text, RecordLine& line);

/// What a record's run line says.
struct RecordedRun {
  std::string name, config, started, loupe_version, libtorch_version;
  bool resumed = false;
};

/// A model as the record tells of it.
struct RecordedModel {
  struct Module {
    std::string name, type;
    int64_t parameters = 0;
    bool leaf = false;
  };
  std::string name, type;
  int64_t parameters = 0;
  std::vector<Module> modules;
};

/// The same for a line of the kind `model`.
RecordedModel parse_model_line(std::string_view text);
/// The same for a line of the kind `run`.
RecordedRun parse_run_line(std::string_view text);

}  // namespace loupe::replay

#endif
