// The visualizer `record`: stores everything that a run reports as JSON Lines. For a resumed run it replays the stored
// part to the other visualizers.

#include <loupe/draft/abi/history.h>
#include <loupe/files/epoch_file.h>
#include <loupe/files/gzip.h>
#include <loupe/plugin.h>
#include <loupe/visualizers/selection.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/earlier_run.h"
#include "record/history.h"
#include "record/last_words.h"
#include "record/run_facts.h"
#include "record/written_line.h"

namespace loupe::record {
namespace {

class Record : public Visualizer {
 public:
  static constexpr const char* name = "record";
  static constexpr const char* help = "JSON Lines, one value a line, which pandas and `loupe replay` read";
  static std::vector<const char*> gives() {
    return {
        "record.jsonl: everything shown, a JSON object a line, for pandas and `loupe replay`; record.jsonl.gz once it "
        "has 16 MiB"};
  }
  static constexpr const char* example = "record: {sync: true}";
  static std::vector<Option> options() {
    return with_selection(
        {{"path", "record.jsonl",
          "the file; relative to the run's directory. At 16 MiB it becomes record.jsonl.gz, which `zcat` reads"},
         {"sync", false, "wait at each tick until the disk has it, so that it also survives a power cut"}});
  }

  Record(const Options& options, const Host& host)
      : selection_(options, host),
        host_(host),
        path_(options),
        file_(path_, options.get<bool>("sync"), &read_old_line, host, gzip()),
        last_words_(host) {}

  void begin(const Run& run) override {
    const Run* own = recorded_run();
    run_ = run_line(own != nullptr ? *own : run);
    known_.clear();
    has_new_ = true;
    // A replay writes its files to a different folder, so the facts on this process are not the run's.
    if (own != nullptr && std::strcmp(own->directory, run.directory) == 0) know_facts();
    selection_.begin();
    between_.clear();
    holds_back_ = (run.flags & LOUPE_RUN_RESUMED) != 0;
    in_tick_ = goes_on_ = written_ = false;
    if (holds_back_ && !std::exchange(is_compared_, true)) earlier_ = EarlierRun::read(path_.in(run).string());
    earlier_record_ = path_.named_in(run.directory).string();
    last_words_.take_back();
    named_ = path_.in(run);
    file_.begin(run);
  }
  void model(const Model& model) override {
    std::string line = model_line(model);
    if (earlier_) models_[model.name] = replay::parse_model_line(line);
    know(std::string("model ") + model.name, std::move(line));
  }
  void tag(const Tag& tag) override { know(std::string("tag ") + tag.id, tag_line(tag)); }
  void hyperparameter(const Hyperparameter& told) override {
    know(std::string("hyperparameter ") + told.name, hyperparameter_line(told));
  }
  void begin_tick(const Tick& tick) override {
    notice_run();
    if (earlier_) warn_of_differences();
    epoch_ = tick.at.epoch;
    if (!selection_.begin_tick()) return;
    tick_line_ = tick_line(tick);
    in_tick_ = true;
    text_.clear();
    text_.reserve(last_size_);
  }
  void row(const Row& row) override {
    if (!selection_.takes(row)) return;
    each_value(row, [&](const RowValue& value) { add_value_line(text_, epoch_, value); });
    each_range(row, [&](const RowRange& range) { add_range_line(text_, epoch_, range); });
  }
  void histogram(const Histogram& histogram) override {
    if (selection_.takes(histogram)) add_histogram_line(text_, epoch_, histogram);
  }
  void finding(const loupe_finding& finding) override {
    const double epoch = in_tick_ || !(finding.last_epoch > 0) ? epoch_ : finding.last_epoch;
    tell(epoch, finding_line(epoch, finding), finding.state == LOUPE_FINDING_RAISED);
  }
  void note(const Note& note) override { tell(note.at.epoch, note_line(note), true); }
  void end_tick() override {
    if (!selection_.is_taken()) return;
    selection_.end_tick();
    in_tick_ = holds_back_ = false;
    if (!between_.empty()) text_.insert(0, std::exchange(between_, ""));
    text_ += tick_line_;
    last_size_ = text_.size();
    write(epoch_, std::exchange(text_, ""));
  }
  void flush() override {
    if (!between_.empty() && !in_tick_ && !holds_back_) write(between_epoch_, std::exchange(between_, ""));
  }
  void end(const Ending& ending) override {
    selection_.end();
    in_tick_ = false;
    if (!written_ && between_.empty()) return file_.end(preamble());
    written_ = false;
    // Before the first tick it is unknown which earlier epochs will be repeated, so keep all.
    const double epoch = holds_back_ ? INFINITY : epoch_;
    const std::string text = std::exchange(between_, "") + end_line(ending);
    try {
      file_.write(epoch, text, preamble());
    } catch (const Error&) {
      file_.end(preamble());  // there is no later chance to write
    }
    last_words_.take_back();
  }
  const void* get_extension(const char* id) override {
    static const loupe_draft_history history = {
        .struct_size = sizeof(loupe_draft_history),
        .last =
            [](void* self, const char* directory, double before, loupe_moment* at, loupe_error* error) {
              return detail::guarded(error, [&] {
                const auto earlier = EarlierRun::read(of(self).path_.in(directory).string(), before);
                if (!earlier || !earlier->last)
                  throw Error(std::string("no epoch is recorded in '") + directory + "'", LOUPE_NOT_FOUND);
                *at = *earlier->last;
              });
            },
        .play =
            [](void* self, const char* directory, double before, uint32_t flags, const loupe_visualizer* to,
               void* to_self, loupe_error* error) {
              return detail::guarded(error, [&] {
                const bool with_events = (flags & LOUPE_DRAFT_HISTORY_EVENTS) != 0;
                play_past(of(self).path_.in(directory), before, with_events, *to, to_self);
              });
            }};
    return std::strcmp(id, LOUPE_DRAFT_HISTORY_ID) == 0 ? &history : nullptr;
  }

 private:
  static const Record& of(void* self) { return static_cast<const Record&>(detail::as<Visualizer>(self)); }

  /// A line that stays valid for the rest of the run.
  struct Known {
    std::string key, line;
    bool written;
  };

  /// The run as the host knows it. In a replay it has the folder of the replayed run, not the folder of the new files.
  /// Null if the host does not know.
  const Run* recorded_run() const { return host_.run(); }

  /// Stores facts on the process as hyperparameters, which pages and comparisons of runs show. Hyperparameters of the
  /// program with the same names replace them.
  void know_facts() {
    std::vector<std::pair<std::string, std::string>> facts = run_facts();
    facts.emplace_back("versions", versions_of(*recorded_run()));
    for (const auto& [name, text] : facts)
      hyperparameter({.struct_size = sizeof(Hyperparameter),
                      .type = LOUPE_TYPE_STRING,
                      .name = name.c_str(),
                      .string = text.c_str()});
  }
  /// "Loupe 1.0.0, libtorch 2.6.0"
  static std::string versions_of(const Run& run) {
    const std::string framework = *run.framework != '\0' ? std::string(", ") + run.framework : "";
    return std::string("Loupe ") + run.loupe_version + framework +
           (*run.framework_version != '\0' ? std::string(" ") + run.framework_version : "");
  }

  /// Warns about differences to the earlier run. Called when the models are known.
  void warn_of_differences() {
    const EarlierRun earlier = *std::exchange(earlier_, std::nullopt);
    const auto warn = [&](const char* what, const std::string& differences) {
      if (differences.empty()) return;
      host_.warn("this run continues '" + earlier_record_ + "' with a different " + what + ": " + differences +
                 "; if it is a different run, leave out 'resume' under run or set another 'dir'");
    };
    if (const Run* own = recorded_run())
      warn("configuration", other_settings(earlier.settings(host_), compared_settings(own->settings)));
    warn("model", earlier.other_models(models_));
    models_.clear();
  }

  void know(const std::string& key, std::string line) {
    notice_run();
    for (Known& known : known_) {
      if (known.key != key) continue;
      if (known.line == line) return;
      known = {key, std::move(line), false};
      has_new_ = true;
      return;
    }
    known_.push_back({key, std::move(line), false});
    has_new_ = true;
  }

  /// Notices that the replayed run was resumed at this place of its record; it then reports open findings again.
  void notice_run() {
    const Run* own = recorded_run();
    if (own == nullptr || (own->flags & LOUPE_RUN_RESUMED) == 0) return;
    std::string line = run_line(*own);
    if (line == run_) return;
    flush();  // the remaining lines came before the resumption
    run_ = std::move(line);
    known_.clear();
    goes_on_ = has_new_ = true;
  }

  /// Writes a line. Between two ticks, urgent lines are written at once, because they may be the last of the process. A
  /// resumed run waits for its first tick, because only that shows which epoch it continues from.
  void tell(double epoch, const std::string& line, bool urgent) {
    if (in_tick_) {
      text_ += line;
      return;
    }
    between_ += line;
    between_epoch_ = epoch;
    if (urgent) flush();
  }

  void write(double epoch, std::string text) {
    written_ = true;
    file_.write(epoch, std::move(text), preamble());
    last_words_.prepare(named_, epoch_);
    for (Known& each : known_) each.written = true;
    news_.clear();
    goes_on_ = false;
  }

  /// Cached, because the line of a large model is long, and each urgent finding needs this.
  Preamble preamble() {
    if (std::exchange(has_new_, false)) {
      all_ = run_;
      news_.clear();
      for (const Known& known : known_) {
        all_ += known.line;
        if (!known.written) news_ += known.line;
      }
    }
    return {all_, all_, goes_on_ ? all_ : news_, &lost_line};
  }
  static std::string lost_line(const std::string& lost, double next) {
    const std::string text = lost + " is lost, because the record could not be written";
    return note_line({.struct_size = sizeof(Note),
                      .kind = LOUPE_NOTE_UNOBSERVED,
                      .text = text.c_str(),
                      .at = {.epoch = next, .time = static_cast<double>(std::time(nullptr))}});
  }

  Selection selection_;
  Host host_;
  OutputPath path_;
  EpochFile file_;
  std::filesystem::path named_;
  LastWords last_words_;
  std::optional<EarlierRun> earlier_;  // of a resumed run, until its first tick
  std::string earlier_record_;
  Models models_;             // needed until the first tick, too
  bool is_compared_ = false;  // the comparison is done or under way
  std::string run_;
  std::vector<Known> known_;
  std::string all_, news_;  // all known lines, and those not yet written
  bool has_new_ = true;     // all_ and news_ are out of date
  double epoch_ = 0, between_epoch_ = 0;
  std::string tick_line_, text_;  // of the current tick
  std::size_t last_size_ = 0;     // the size of the previous tick; ticks have similar sizes
  std::string between_;           // lines from outside a tick, not yet written
  bool in_tick_ = false, holds_back_ = false, written_ = false;
  bool goes_on_ = false;  // the run line has to be written again
};

}  // namespace
}  // namespace loupe::record

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"record", LOUPE_VERSION, "The numbers as JSON Lines.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::record::Record);
