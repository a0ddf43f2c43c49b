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

/// Receives tags, values and findings, and shows or stores them. A subclass is made by a constructor that takes
/// `const Options&` and touches no file there: `loupe validate` makes one too. Calls never overlap, and come on a
/// thread of the host's own, so that they may take their time: training waits only where several ticks wait to be told.
/// What it throws is told once and never stops training; it is tried again at the next tick. Everything passed is
/// borrowed for the call.
class Visualizer {
 public:
  virtual ~Visualizer() = default;
  /// A run begins, or is joined. `run.directory` is where files belong; it is empty when the run keeps none.
  virtual void begin(const Run&) {}
  /// Each model, before the first tick after it was attached.
  virtual void model(const Model&) {}
  /// Comes before the tag's first value; the same id again replaces what was said of it.
  virtual void tag(const Tag&) {}
  virtual void begin_tick(const Tick& tick) = 0;
  /// Numbers of one layer of a tag; there may be several rows of it in a tick, some of single steps (row.step). See
  /// each_value and each_range.
  virtual void row(const Row& row) = 0;
  virtual void histogram(const Histogram&) {}
  /// The tick is told. What it holds may be stored later, but by flush() at the latest.
  virtual void end_tick() {}
  /// When this returns, everything told so far must be safe from a killed process.
  virtual void flush() {}
  /// In a tick or between two: what is wrong, once when it is raised, changed or gone.
  virtual void finding(const loupe_finding&) {}
  /// Something that happened, to be marked on the time axis.
  virtual void note(const Note&) {}
  /// What the run was set to; the same name again replaces it.
  virtual void hyperparameter(const Hyperparameter&) {}
  /// A few times a second while the model trains; left out while one before waits to be told.
  virtual void progress(const Progress&) {}
  virtual void end(const Ending&) {}
  /// What this visualizer offers beyond the ABI's table, by an id with a revision.
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
/// Where its axis is to begin; nullopt: as the data wants.
inline std::optional<double> y_minimum_of(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_HAS_MINIMUM) != 0 ? std::optional(tag.y_minimum) : std::nullopt;
}
/// Where it is to end.
inline std::optional<double> y_maximum_of(const Tag& tag) {
  return (tag.flags & LOUPE_TAG_HAS_MAXIMUM) != 0 ? std::optional(tag.y_maximum) : std::nullopt;
}
/// The layer that a finding is about; null where it is about none.
inline const char* layer_of(const loupe_finding& finding) {
  const char* module = finding.module != nullptr ? finding.module->name : nullptr;
  return finding.layer != nullptr ? finding.layer : module;
}
/// What to call a tag to people.
inline const char* title_of(const Tag& tag) {
  return tag.title != nullptr && *tag.title != '\0' ? tag.title : tag.id;
}

}  // namespace v1_0
}  // namespace loupe
