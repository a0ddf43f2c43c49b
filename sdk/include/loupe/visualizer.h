#ifndef LOUPE_VISUALIZER_H
#define LOUPE_VISUALIZER_H

#include <loupe/options.h>

namespace loupe {

using Run = loupe_run;
using Tag = loupe_tag;
using Value = loupe_value;
using Range = loupe_range;
using Histogram = loupe_histogram;
using Progress = loupe_progress;

/// Receives tags and values, and shows or stores them. A subclass is made by a constructor that takes `const Options&`.
/// All calls come on the trainer's thread. What it throws is told once and never stops training; it is tried again at
/// the next tick. Everything passed is borrowed for the call.
class Visualizer {
 public:
  virtual ~Visualizer() = default;
  /// A run begins, or is joined. `run.directory` is where files belong; it is empty when the run keeps none.
  virtual void begin(const Run&) {}
  /// Comes before the tag's first value; the same tag may be told again.
  virtual void tag(const Tag&) {}
  virtual void begin_tick(double epoch) = 0;
  virtual void value(const Value& value) = 0;
  virtual void range(const Range&) {}
  virtual void histogram(const Histogram&) {}
  /// When this returns, everything told so far must be safe from a killed process.
  virtual void end_tick() {}
  /// A few times a second while the model trains.
  virtual void progress(const Progress&) {}
  virtual void end() {}
};

}  // namespace loupe

#endif
