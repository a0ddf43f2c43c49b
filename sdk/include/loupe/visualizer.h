#pragma once

#include <loupe/options.h>
#include <loupe/row.h>

#include <optional>

namespace loupe {
inline namespace v1_0 {

using Run = loupe_run;
using Model = loupe_model;
using Tick = loupe_tick;
using Tag = loupe_tag;
using Row = loupe_row;
using Histogram = loupe_histogram;
using Note = loupe_note;
using Progress = loupe_progress;
using Hyperparameter = loupe_option_value;
using Ending = loupe_ending;

/// Receives tags, values and findings, and shows or stores them. A subclass has a constructor that takes `const
/// Options&` and touches no file: `loupe validate` creates one too. Calls never overlap, and come on the host's own
/// thread, so they may take time: training waits only if several ticks are queued. An exception is reported once and
/// never stops training; the next tick tries again. All arguments are borrowed for the call.
class Visualizer {
 public:
  virtual ~Visualizer() = default;
  /// A run begins, or is joined. `run.directory` is the folder for files: without `run.dir` in the YAML, the
  /// trainer's working folder, which several runs may share.
  virtual void begin(const Run&) {}
  /// Called for each model, before the first tick after it was attached.
  virtual void model(const Model&) {}
  /// Called before the tag's first value; a tag with the same id replaces the earlier one.
  virtual void tag(const Tag&) {}
  virtual void begin_tick(const Tick& tick) = 0;
  /// Numbers of one layer of a tag; it may have several rows in a tick, some for single steps (row.step). See
  /// each_value and each_range.
  virtual void row(const Row& row) = 0;
  virtual void histogram(const Histogram&) {}
  /// The tick is complete. It may be stored later, at the latest in flush().
  virtual void end_tick() {}
  /// When this returns, everything so far must survive if the process is killed.
  virtual void flush() {}
  /// In a tick or between two: a finding was raised, changed or resolved.
  virtual void finding(const loupe_finding&) {}
  /// Something that happened, to mark on the time axis.
  virtual void note(const Note&) {}
  /// A setting of the run; one with the same name replaces it.
  virtual void hyperparameter(const Hyperparameter&) {}
  /// A few times a second while the model trains; skipped while the previous one is still queued.
  virtual void progress(const Progress&) {}
  virtual void end(const Ending&) {}
  /// Returns an extension of the ABI's table by its id, which has a revision.
  virtual const void* get_extension(const char*) { return nullptr; }
};

inline bool is_logarithmic(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_LOG_Y) != 0;
}
/// Whether it is one plot for the whole model.
inline bool is_big(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_BIG) != 0;
}
inline bool is_annotated(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_ANNOTATE) != 0;
}
/// The lower limit of the axis; nullopt: as the data needs.
inline std::optional<double> y_minimum_of(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_HAS_MINIMUM) != 0 ? std::optional(tag.y_minimum) : std::nullopt;
}
/// The upper limit of the axis; nullopt: as the data needs.
inline std::optional<double> y_maximum_of(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_HAS_MAXIMUM) != 0 ? std::optional(tag.y_maximum) : std::nullopt;
}
/// The layer that a finding is about, or null.
inline const char* layer_of(const loupe_finding& finding) {
  const char* module = finding.module != nullptr ? finding.module->name : nullptr;
  return finding.layer != nullptr ? finding.layer : module;
}
/// The title of a tag for people.
inline const char* title_of(const Tag& tag) {
  return tag.title != nullptr && *tag.title != '\0' ? tag.title : tag.id;
}

}  // namespace v1_0
}  // namespace loupe
