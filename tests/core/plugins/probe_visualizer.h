#pragma once

#include <string>
#include <vector>

#include "plugins/actor.h"

namespace loupe {

/// Notes each of its calls.
class ProbeVisualizer : public Visualizer {
 public:
  static constexpr const char* name = "probe_visualizer";
  static constexpr const char* help = "notes each of its calls";
  static std::vector<Option> options() {
    return {{"id", "shown", "its name in the test's notes"}, {"flushes", false, "note when it is told to flush"}};
  }
  ProbeVisualizer(const Options& options, const Host& host)
      : actor_(host, options.get<std::string>("id")), flushes_(options.get<bool>("flushes")) {}

  void begin(const Run& run) override { actor_.act(std::string("begin ") + run.name); }
  void tag(const Tag& tag) override { actor_.act(std::string("tag ") + tag.id); }
  void begin_tick(const Tick& tick) override { actor_.act("begin_tick " + text_of(tick.at.epoch)); }
  void row(const Row& row) override {
    each_value(row, [&](const RowValue& value) {
      actor_.act(std::string("value ") + value.tag + "/" + layer_of(value) + "/" + value.line + " " +
                 text_of(value.value));
    });
    each_range(row, [&](const RowRange& range) {
      actor_.act(std::string("range ") + range.tag + "/" + layer_of(range) + " " + text_of(range.low) + ".." +
                 text_of(range.high));
    });
  }
  void histogram(const Histogram& histogram) override {
    actor_.act(std::string("histogram ") + histogram.tag + "/" + layer_of(histogram));
  }
  void finding(const loupe_finding& finding) override {
    actor_.act(std::string("finding ") + finding.rule + " by " + finding.source);
  }
  void note(const Note& note) override {
    actor_.note(std::string("text of a note: ") + note.text);
    if (note.finding != 0) actor_.note("finding of a note: " + std::to_string(note.finding));
    actor_.act("note");
  }
  void end_tick() override { actor_.act("end_tick"); }
  void progress(const Progress& progress) override { actor_.act("progress " + std::to_string(progress.steps)); }
  void flush() override {
    if (flushes_) actor_.act("flush");
  }
  void end(const Ending&) override { actor_.act("end"); }

 private:
  Actor actor_;
  bool flushes_;
};

}  // namespace loupe
