#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loupe::replay {

/// One line of a record, taken apart. Of the members, those that the kind has are set.
struct RecordLine {
  enum class Kind { run, model, tag, hyperparameter, value, range, histogram, finding, note, tick, end };
  Kind kind = Kind::run;
  std::string tag, layer, line;     // value, histogram; a range has low_name and high_name for `line`
  std::string low_name, high_name;  // range
  double epoch = 0;                 // value, range, histogram, finding, note, tick, end
  double value = 0, low = 0, high = 0;
  std::uint64_t events = 0;           // value, range, histogram: on how many it stands; 0 where nobody said
  std::vector<double> edges, counts;  // histogram: edges ascend, and are one more than the counts
  std::uint32_t tag_type = 0;         // tag: LOUPE_SCALE_NUMERICAL, …
  bool log_y = false, big = false, annotate = false;
  double y_minimum = 0, y_maximum = 0;                    // NaN: as the data wants
  std::string title, unit, description, healthy, advice;  // tag; each may be empty

  // A finding, with `tag`, `layer`, `value` and `advice`. Texts may be empty, numbers NaN.
  std::uint64_t id = 0;  // of its identity, also where the record has none
  std::uint32_t severity = 0, state = 0;
  std::string rule, parameter, message, source, caused_by, file;
  std::uint64_t file_line = 0;
  double threshold = 0, first_epoch = 0, last_epoch = 0;
  std::uint64_t first_step = 0, last_step = 0, count = 0;

  std::uint32_t about = 0;                      // note: LOUPE_NOTE_
  std::string text;                             // note
  std::uint64_t finding = 0;                    // note: the number of the one that it is about; 0: of none
  std::uint64_t step = 0;                       // note, tick, end; value, range: 0 where it is of the whole tick
  std::uint64_t steps = 0, measured_steps = 0;  // tick
  std::string time;                             // the same, ISO 8601
  double timestamp = 0;                         // the same, seconds since 1970; 0 where the record does not say
  double elapsed = 0;                           // note, tick, end
  std::uint32_t reason = 0;                     // tick: LOUPE_TICK_
  bool incomplete = false;                      // tick
  std::uint32_t how = 0;                        // end, with `message`: LOUPE_END_; 0 where the record does not say
};

/// Takes apart what the visualizer `record` wrote. `line` keeps its memory from call to call. Throws Error with what is
/// wrong, without its place; also for epochs, counts and times that no run has.
void parse_record_line(std::string_view text, RecordLine& line);

/// The message that a line of its kind tells: a loupe_tag, _finding, _note, _tick or _ending. Borrows from the line.
template <class S>
S message_of(const RecordLine& line);

/// NaN or an infinity by the name that a record gives it.
std::optional<double> number_named(std::string_view text);

/// What a record's run line says.
struct RecordedRun {
  int format = 0;  ///< of the record
  std::string name, directory, started, loupe_version, framework, framework_version;
  std::string config;  ///< as it stands there: anybody may have written it
  bool resumed = false;
  double start_time = 0;  ///< seconds since 1970
  int rank = 0, world_size = 1;
  std::string train_loss = "train_loss", validation_loss = "val_loss";
  std::vector<std::string> lenses;
};

/// What a run was set to.
struct RecordedSetting {
  std::string name;
  std::uint32_t type = 0;  ///< LOUPE_TYPE_
  std::int64_t integer = 0;
  double number = 0;
  std::string string;
  std::vector<std::string> strings;
};

/// A model as the record describes it.
struct RecordedModel {
  struct Parameter {
    std::vector<int64_t> sizes;
    int64_t elements = 0;
  };
  struct Module {
    std::string name, type;
    std::vector<Parameter> parameters;  ///< one of all elements, in records that tell no shapes
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
