#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loupe::replay {

/// One parsed line of a record. Only the members that its kind has are set.
struct RecordLine {
  enum class Kind { run, model, tag, hyperparameter, value, range, histogram, finding, note, tick, end };
  Kind kind = Kind::run;
  std::string tag, layer, line;     // value, histogram; a range has low_name and high_name for `line`
  std::string low_name, high_name;  // range
  double epoch = 0;                 // value, range, histogram, finding, note, tick, end
  double value = 0, low = 0, high = 0;
  std::uint64_t events = 0;           // value, range, histogram: the number of events in it; 0 if unknown
  std::vector<double> edges, counts;  // histogram: ascending edges, one more than counts
  std::uint32_t tag_type = 0;         // tag: LOUPE_SCALE_NUMERICAL, …
  bool log_y = false, big = false, annotate = false;
  double y_minimum = 0, y_maximum = 0;                    // NaN: determined by the data
  std::string title, unit, description, healthy, advice;  // tag; each may be empty

  // A finding also has `tag`, `layer`, `value` and `advice`. Texts may be empty, numbers NaN.
  std::uint64_t id = 0;  // a hash of its identity; computed if the record has none
  std::uint32_t severity = 0, state = 0;
  std::string rule, parameter, message, source, caused_by, file;
  std::uint64_t file_line = 0;
  double threshold = 0, first_epoch = 0, last_epoch = 0;
  std::uint64_t first_step = 0, last_step = 0, count = 0;

  std::uint32_t about = 0;                      // note: LOUPE_NOTE_
  std::string text;                             // note
  std::uint64_t finding = 0;                    // note: the number of the finding that it is about; 0: none
  std::uint64_t step = 0;                       // note, tick, end; value, range: 0 if it is of a whole tick
  std::uint64_t steps = 0, measured_steps = 0;  // tick
  std::string time;                             // tick: ISO 8601
  double timestamp = 0;                         // tick: seconds since 1970; 0 if unknown
  double elapsed = 0;                           // note, tick, end
  std::uint32_t reason = 0;                     // tick: LOUPE_TICK_
  bool incomplete = false;                      // tick
  std::uint32_t how = 0;                        // end, with `message`: LOUPE_END_; 0 if unknown
};

/// Parses a line that the visualizer `record` wrote. Reuses the memory of `line`. Throws Error with the fault, without
/// its place, also for impossible epochs, counts and times.
void parse_record_line(std::string_view text, RecordLine& line);

/// The message in a line of its kind: loupe_tag, _finding, _note, _tick or _ending. Borrows texts from the line.
template <class S>
S message_of(const RecordLine& line);

/// NaN or an infinity from its name in records.
std::optional<double> number_named(std::string_view text);

/// The content of a record's run line.
struct RecordedRun {
  int format = 0;  ///< the version of the record's format
  std::string name, directory, started, loupe_version, framework, framework_version;
  std::string config;  ///< exactly as in the record; anybody may have written it
  bool resumed = false;
  double start_time = 0;  ///< seconds since 1970
  int rank = 0, world_size = 1;
  std::string train_loss = "train_loss", validation_loss = "val_loss";
  std::vector<std::string> lenses;
};

/// A hyperparameter of a run.
struct RecordedSetting {
  std::string name;
  std::uint32_t type = 0;  ///< LOUPE_TYPE_
  std::int64_t integer = 0;
  double number = 0;
  std::string string;
  std::vector<std::string> strings;
};

/// A model as a record describes it.
struct RecordedModel {
  struct Parameter {
    std::vector<int64_t> sizes;
    int64_t elements = 0;
  };
  struct Module {
    std::string name, type;
    std::vector<Parameter> parameters;  ///< one parameter with all elements if the record has no shapes
    bool leaf = false;
  };
  std::string name, type;
  int64_t parameters = 0;
  std::vector<Module> modules;
};

/// The same for a line of the kind `model`.
RecordedModel parse_model_line(std::string_view text);
/// The same for a line of the kind `hyperparameter`.
RecordedSetting parse_hyperparameter_line(std::string_view text);
/// The same for a line of the kind `run`.
RecordedRun parse_run_line(std::string_view text);

}  // namespace loupe::replay
