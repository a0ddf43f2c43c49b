// The visualizer `record`: everything a run tells, as JSON Lines.

#include <loupe/files/epoch_file.h>
#include <loupe/plugin.h>
#include <loupe/utc_text.h>

#include <string>
#include <vector>

#include "record/record_line.h"

namespace loupe::record {
namespace {

class Record : public Visualizer {
 public:
  static constexpr const char* name = "record";
  static constexpr const char* help = "JSON Lines, one value a line, which pandas and `loupe replay` read";
  static std::vector<const char*> gives() {
    return {"record.jsonl: everything shown, a JSON object a line, for pandas and `loupe replay`"};
  }
  static constexpr const char* example = "record: {sync: true}";
  static std::vector<Option> options() {
    return {{"path", "record.jsonl", "the file; relative to the run's directory"},
            {"sync", false, "wait at each tick until the disk has it, so that it also survives a power cut"}};
  }

  Record(const Options& options, const Host& host)
      : file_(OutputPath(options), options.get<bool>("sync"), &read_line, host) {}

  void begin(const Run& run) override {
    run_ = run_line(run);
    known_.clear();
    file_.begin(run);
  }
  void model(const Model& model) override { know(std::string("model ") + model.name, model_line(model)); }
  void tag(const Tag& tag) override { know(std::string("tag ") + tag.id, tag_line(tag)); }
  void begin_tick(const Tick& tick) override {
    epoch_ = tick.epoch;
    time_ = tick.time;
    text_.clear();
  }
  void value(const Value& value) override { text_ += value_line(epoch_, value); }
  void range(const Range& range) override { text_ += range_line(epoch_, range); }
  void histogram(const Histogram& histogram) override { text_ += histogram_line(epoch_, histogram); }
  void end_tick() override {
    text_ += tick_line(epoch_, utc_text(time_));
    std::string text;
    text.swap(text_);
    file_.write(epoch_, std::move(text), preamble());
    for (Known& each : known_) each.written = true;
  }
  void end(const Ending&) override { file_.end(preamble()); }

 private:
  /// A line that stands for the whole run, from when it is told on.
  struct Known {
    std::string key, line;
    bool written;
  };

  void know(const std::string& key, std::string line) {
    for (Known& known : known_) {
      if (known.key != key) continue;
      if (known.line != line) known = {key, std::move(line), false};
      return;
    }
    known_.push_back({key, std::move(line), false});
  }

  Preamble preamble() const {
    std::string all = run_, news;
    for (const Known& known : known_) {
      all += known.line;
      if (!known.written) news += known.line;
    }
    return {all, all, news};
  }

  EpochFile file_;
  std::string run_;
  std::vector<Known> known_;
  double epoch_ = 0, time_ = 0;
  std::string text_;
};

}  // namespace
}  // namespace loupe::record

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"record", "0.1.0", "The numbers as JSON Lines.", "the authors of Loupe", "MIT"}),
                  loupe::record::Record);
