#include <loupe/detail/keyed_list.h>
#include <loupe/files/output_path.h>
#include <loupe/plugin.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <loupe/visualizers/model_json.h>
#include <loupe/visualizers/selection.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>

#include "tensorboard/event_file.h"
#include "tensorboard/summaries.h"

namespace loupe::tensorboard {
namespace {

/// The findings and notes of a run as Markdown, for TensorBoard's page of texts.
class Story {
 public:
  /// A finding with a known number replaces the earlier one.
  void finding(const loupe_finding& finding);
  /// Drops the oldest notes if there are very many.
  void note(const Note& note);

  /// Whether something came since the last markdown().
  bool changed() const { return changed_; }
  /// Open findings worst first, then resolved ones, then notes in order of arrival. If there are very many findings,
  /// contains only the worst, because each tick with a new one writes the whole text again.
  std::string markdown();

 private:
  struct Found {
    std::string line;
    uint32_t severity = 0;
    bool gone = false;
  };
  detail::KeyedList<Found, uint64_t> findings_;  // by number
  std::deque<std::string> notes_;
  bool changed_ = false;
};

constexpr std::size_t MOST_NOTES = 200, MOST_FINDINGS = 200;

/// Escapes a text, so that none of it is read as Markdown or HTML and it stays one paragraph.
std::string escaped(const char* text) {
  std::string result;
  for (const char c : text_of(text)) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '\n' || c == '\r') {
      result += ' ';
    } else {
      if (std::strchr("\\`*_{}[]()#+-.!|>", c) != nullptr) result += '\\';
      result += c;
    }
  }
  return result;
}

std::string moment(double epoch, uint64_t step) {
  return "epoch " + escaped(number_text(epoch).c_str()) + (step > 0 ? ", step " + std::to_string(step) : "");
}

std::string line_of(const loupe_finding& finding) {
  const char* layer = layer_of(finding);
  const bool gone = finding.state == LOUPE_FINDING_GONE;
  std::string line = "- **" + word_of(severity_words, finding.severity) + "**";
  if (layer != nullptr) line += " in **" + escaped(layer) + "**";
  if (finding.parameter != nullptr) line += " " + escaped(finding.parameter);
  line += ": " + escaped(message_with_place(finding).c_str());
  if (finding.advice != nullptr) line += " " + escaped(finding.advice);
  line += gone ? " (" : " (since ";
  line += moment(finding.first_epoch, finding.first_step);
  if (gone) line += " to " + moment(finding.last_epoch, finding.last_step);
  if (finding.count > 1) line += "; seen " + std::to_string(finding.count) + " times";
  if (finding.tag != nullptr) line += "; see " + escaped(finding.tag);
  return line + ")\n";
}

void Story::finding(const loupe_finding& finding) {
  findings_[finding.id] = {line_of(finding), finding.severity, finding.state == LOUPE_FINDING_GONE};
  changed_ = true;
}

void Story::note(const Note& note) {
  notes_.push_back("- " + moment(note.at.epoch, note.at.step) + ", " + word_of(note_words, note.kind) + ": " +
                   escaped(note.text) + "\n");
  if (notes_.size() > MOST_NOTES) notes_.pop_front();
  changed_ = true;
}

std::string Story::markdown() {
  changed_ = false;
  const auto lines = [&](bool gone) {
    std::string text;
    std::size_t count = 0;
    for (uint32_t severity = LOUPE_SEVERITY_ERROR; severity >= LOUPE_SEVERITY_INFO; --severity) {
      for (const Found& found : findings_) {
        if (found.gone == gone && found.severity == severity && ++count <= MOST_FINDINGS) text += found.line;
      }
    }
    return count <= MOST_FINDINGS ? text : text + "- and " + std::to_string(count - MOST_FINDINGS) + " more\n";
  };
  const std::string standing = lines(false), over = lines(true);
  std::string text;
  if (!findings_.empty()) text += "### Findings\n\n" + (standing.empty() ? "No findings now.\n" : standing);
  if (!over.empty()) text += "\n### Over\n\n" + over;
  if (!notes_.empty()) text += "\n### Notes\n\n";
  for (const std::string& note : notes_) text += note;
  return text;
}

/// Event files for TensorBoard: scalars, histograms, a layout of charts by tag, findings and notes as a text. As
/// hyperparameters it has settings from before the first tick: the optimizer, its learning rate, and those that the
/// trainer has set. The configuration, which contains no hyperparameters, is shown as a text. One folder for each run.
class TensorBoard : public Visualizer {
 public:
  static constexpr const char* name = "tensorboard";
  static constexpr const char* help = "writes event files for TensorBoard";
  static std::vector<const char*> gives() {
    return {
        "tensorboard: a folder of event files with scalars and histograms (tag/line/layer), charts, findings and "
        "hyperparameters"};
  }
  static constexpr const char* example = "tensorboard: {steps_per_epoch: 100}";
  static std::vector<Option> options() {
    return with_selection({{"path", "tensorboard", "the folder of the event files; relative to the run's directory"},
                           {"steps_per_epoch", 1.0,
                            "TensorBoard counts whole steps: a step is the epoch times this, rounded", 1e-6, 1e12},
                           {"bands", false, "also write the ends of bands, two scalars each"}});
  }

  TensorBoard(const Options& options, const Host& host)
      : selection_(options, host),
        path_(options),
        bands_(options.get<bool>("bands")),
        steps_per_epoch_(options.get<double>("steps_per_epoch")),
        host_(host) {}

  void begin(const Run& run) override {
    // If begin() is called again because writing to the folder failed, the run keeps its folder.
    if (file_ && !described_) folders_.erase(file_->folder());
    const std::filesystem::path folder = folder_of(run);
    file_ = std::make_unique<EventFile>(folder, host_);
    selection_.begin();
    charts_ = Charts();
    settings_.clear();
    config_ = run.config;
    models_.clear();
    story_ = Story();
    described_ = false;
    step_ = 0;
    try {
      check_writable(folder / "events");
    } catch (const std::system_error& reason) {
      throw cannot_write(folder, reason, "the data is kept in memory until the folder can be written");
    }
  }

  void model(const Model& model) override { models_ += model_json(model) + "\n"; }
  void tag(const Tag& tag) override { charts_.tag(tag); }

  void begin_tick(const Tick& tick) override {
    step_ = std::llround(tick.at.epoch * steps_per_epoch_);
    summary_.clear();
    summaries_.clear();
    if (!selection_.begin_tick()) return;
    if (!described_) file().add_start(step_);
  }

  void row(const Row& row) override {
    if (!selection_.takes(row)) return;
    // A chart has only one axis: values of steps are at their steps, even if the others are at epochs.
    std::string& summary = row.step > 0 ? summaries_[static_cast<std::int64_t>(row.step)] : summary_;
    const auto add = [&](const char* name, double number) {
      add_scalar(summary, scalar_name(row.tag, layer_of(row), name), number);
    };
    each_value(row, [&](const RowValue& value) {
      charts_.line(row.tag, layer_of(row), value.line);
      add(value.line, value.value);
    });
    each_range(row, [&](const RowRange& range) {
      if (!bands_) return;
      charts_.band(row.tag, layer_of(row), range.low_name, range.high_name);
      add(range.low_name, range.low);
      add(range.high_name, range.high);
    });
  }

  void histogram(const loupe::Histogram& histogram) override {
    if (!selection_.takes(histogram)) return;
    add_histogram(summary_, scalar_name(histogram.tag, layer_of(histogram), histogram.line), histogram);
  }

  void finding(const loupe_finding& finding) override { story_.finding(finding); }
  void note(const Note& note) override { story_.note(note); }
  void hyperparameter(const Hyperparameter& value) override { settings_[value.name] = setting_of(value); }

  void end_tick() override {
    if (!selection_.is_taken()) return;
    selection_.end_tick();
    EventFile& file = this->file();
    if (!described_) describe_run();
    described_ = true;
    if (charts_.changed()) {
      std::string layout;
      add_text(layout, "custom_scalars__config__", "custom_scalars", charts_.layout());
      file.add_summary(step_, layout);
    }
    for (const auto& [step, summary] : summaries_) file.add_summary(step, summary);
    file.add_summary(step_, summary_);
    tell_story();
    file.write();
  }

  void flush() override {
    if (!file_) return;
    tell_story();
    file_->write();
  }
  void end(const Ending& ending) override {
    selection_.end();
    if (!file_) return;
    tell_story();
    if (described_) {
      std::string summary;
      add_hyperparameter_data(summary, "_hparams_/session_end_info", session_end(ending.how, now()));
      file_->add_summary(step_, summary);
    }
    file_->write();
  }

 private:
  EventFile& file() {
    if (!file_) throw Error("tensorboard got a tick before its run began", LOUPE_INVALID);
    return *file_;
  }

  /// TensorBoard takes each folder for a run, so a second run in the same folder gets a folder inside of it.
  std::filesystem::path folder_of(const Run& run) {
    const std::filesystem::path folder = path_.in(run);
    std::string name = run.name;
    for (char& c : name) c = c == '/' || c == '\\' ? '_' : c;
    if (name.empty() || name[0] == '.') name = "run" + name;
    std::filesystem::path own = folder;
    for (int i = 1; !folders_.insert(own).second; ++i) {
      own = folder / (i == 1 ? name : name + "-" + std::to_string(i));
    }
    return own;
  }

  void describe_run() {
    std::string summary;
    add_hyperparameter_data(summary, "_hparams_/experiment", experiment(settings_, charts_.results()));
    add_hyperparameter_data(summary, "_hparams_/session_start_info", session_start(settings_, now()));
    if (!config_.empty()) add_text(summary, "config", "text", "```yaml\n" + config_ + "\n```");
    if (!models_.empty()) add_text(summary, "models", "text", "```json\n" + models_ + "\n```");
    file_->add_summary(step_, summary);
  }

  void tell_story() {
    if (!story_.changed()) return;
    std::string summary;
    add_text(summary, "findings", "text", story_.markdown());
    file_->add_summary(step_, summary);
  }

  static double now() { return static_cast<double>(std::time(nullptr)); }

  Selection selection_;
  OutputPath path_;
  bool bands_;
  double steps_per_epoch_;
  Host host_;
  std::set<std::filesystem::path> folders_;
  std::unique_ptr<EventFile> file_;
  Charts charts_;
  Settings settings_;
  Story story_;
  std::string config_, models_;
  bool described_ = false;
  std::int64_t step_ = 0;
  std::string summary_;
  std::map<std::int64_t, std::string> summaries_;  // the summaries of single steps, by step
};

}  // namespace
}  // namespace loupe::tensorboard

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"tensorboard", LOUPE_VERSION, "Event files for TensorBoard.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::tensorboard::TensorBoard);
