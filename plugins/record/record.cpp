// The visualizer `record`: everything a run tells, as JSON Lines.

#include <loupe/plugin.h>

#include <ctime>
#include <string>
#include <vector>

#include "common/epoch_file.h"
#include "record/record_line.h"

namespace loupe::record {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

class Record : public Visualizer {
 public:
  static constexpr const char* name = "record";
  static constexpr const char* help = "JSON Lines, one value a line, which pandas and `loupe replay` read";
  static std::vector<Option> options() {
    return {{"path", "record.jsonl", "the file; relative to the run's directory"},
            {"sync", false, "wait at each tick until the disk has it, so that it also survives a power cut"}};
  }
  static std::vector<const char*> aliases() { return {"recorder"}; }

  Record(const Options& options, const Host& host)
      : file_(path_option(options), options.get<bool>("sync"), &read_line, host) {}

  void begin(const Run& run) override {
    run_ = run_line(run);
    tags_.clear();
    file_.begin(run);
  }
  void tag(const Tag& tag) override {
    std::string line = tag_line(tag);
    for (KnownTag& known : tags_) {
      if (known.name != tag.name) continue;
      if (known.line != line) known = {tag.name, std::move(line), false};
      return;
    }
    tags_.push_back({tag.name, std::move(line), false});
  }
  void begin_tick(double epoch) override {
    epoch_ = epoch;
    text_.clear();
  }
  void value(const Value& value) override { text_ += value_line(epoch_, value); }
  void range(const Range& range) override { text_ += range_line(epoch_, range); }
  void histogram(const Histogram& histogram) override { text_ += histogram_line(epoch_, histogram); }
  void end_tick() override {
    text_ += tick_line(epoch_, utc_now());
    std::string text;
    text.swap(text_);
    file_.write(epoch_, std::move(text), preamble());
    for (KnownTag& tag : tags_) tag.written = true;
  }
  void end() override { file_.end(preamble()); }

 private:
  struct KnownTag {
    std::string name, line;
    bool written;
  };

  Preamble preamble() const {
    std::string all = run_, news;
    for (const KnownTag& tag : tags_) {
      all += tag.line;
      if (!tag.written) news += tag.line;
    }
    return {all, all, news};
  }

  EpochFile file_;
  std::string run_;
  std::vector<KnownTag> tags_;
  double epoch_ = 0;
  std::string text_;
};

}  // namespace
}  // namespace loupe::record

LOUPE_PLUGIN("record", "0.1.0", loupe::record::Record);
