// The visualizer `mlflow`: the run on an MLflow server, by its REST API.

#include <loupe/files/compression.h>
#include <loupe/files/output_path.h>
#include <loupe/plugin.h>
#include <loupe/text/words.h>
#include <loupe/visualizers/selection.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "mlflow/server.h"

namespace loupe::mlflow {
namespace {

/// A name as MLflow takes it for metrics, parameters and tags: letters, digits and a few marks, no empty part of a
/// path. Two names may become one; `train loss` and `train_loss` do not.
std::string key_of(std::string_view name) {
  constexpr std::size_t longest = 250;
  std::string key;
  for (const char each : name) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9');
    const char mark = is_plain || std::string_view("_-. /").find(each) != std::string_view::npos ? each : '_';
    const bool begins_a_part = key.empty() || key.back() == '/';
    key += begins_a_part && (mark == '/' || mark == '.') ? '_' : mark;  // it would be normalized as a path
  }
  if (key.size() > longest) key.resize(longest);
  if (key.empty() || key.back() == '/') key += '_';
  return key;
}

/// What fits into a parameter or tag.
std::string cut(std::string text) {
  constexpr std::size_t longest = 5000;
  if (text.size() <= longest) return text;
  text.resize(longest - 4);
  return text + " ...";
}

namespace fs = std::filesystem;

// What a server takes in one request.
constexpr std::size_t most_metrics = 1000, most_entities = 100;
constexpr std::size_t bytes_a_metric = 400;  // about what one takes as JSON in memory

Json number(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}

class Mlflow : public Visualizer {
 public:
  static constexpr const char* name = "mlflow";
  static constexpr const char* help =
      "a run on the MLflow server of MLFLOW_TRACKING_URI: settings, metrics by step, findings as tags, the report";
  static std::vector<const char*> gives() {
    return {"mlflow.json: which of the server's runs this one is, for a resumed run to go on in it"};
  }
  static constexpr const char* example = "mlflow: {experiment: digits}";
  static std::vector<Option> options() {
    return with_selection(
        {{"experiment", "loupe", "the experiment on the server that the run belongs to; made where it is not there"},
         {"path", "mlflow.json", "where it is kept which run on the server this is; relative to the run's directory"}});
  }

  Mlflow(const Options& options, const Host& host)
      : selection_(options, host), path_(options), host_(host), experiment_(options.get<std::string>("experiment")) {}

  void begin(const Run& run) override {
    sender_.reset();
    selection_.begin();
    settings_.clear();
    findings_.clear();
    finding_keys_.clear();
    waiting_.clear();
    if (run.rank != 0) return;  // which shows the run of all
    const Access access = Access::from_environment();
    if (const std::string fault = access.fault(); !fault.empty()) return host_.warn(fault);
    // In a replay, files go elsewhere than the run's own.
    const Run* own = host_.run();
    folder_ = text_of(own != nullptr ? own->directory : run.directory);
    const bool keeps_files = *run.directory != '\0';
    RunFacts facts;
    facts.experiment = experiment_;
    facts.name = run.name;
    facts.record = folder_.empty() ? "" : (folder_ / "record.jsonl").string();
    facts.file = keeps_files ? path_.in(run) : fs::path();
    facts.start_time = run.start_time;
    facts.resumed = (run.flags & LOUPE_RUN_RESUMED) != 0;
    sender_ = std::make_unique<Sender>(access, std::move(facts), host_);
  }
  void hyperparameter(const Hyperparameter& told) override {
    std::string text = cut(setting_text(told));
    const std::string key = key_of(told.name);
    const auto known = settings_.find(key);
    if (known != settings_.end() && known->second == text) return;
    // A parameter never changes.
    add(known == settings_.end() ? "params" : "tags", {{"key", key}, {"value", text}});
    settings_[key] = std::move(text);
  }
  void finding(const loupe_finding& finding) override {
    const auto [known, is_new] = findings_.try_emplace(finding.id);
    auto& [key, message] = known->second;
    if (is_new) key = key_of_finding(finding);
    const std::string word = finding.state == LOUPE_FINDING_GONE ? "gone" : word_of(severity_words, finding.severity);
    // One that is gone keeps the words from when it stood.
    if (finding.state != LOUPE_FINDING_GONE || message.empty()) message = message_with_place(finding);
    const std::string since = " (since epoch " + number_text(finding.first_epoch) + ")";
    add("tags", {{"key", key}, {"value", cut(word + ": " + message + since)}});
  }
  void begin_tick(const Tick& tick) override {
    selection_.begin_tick();
    epoch_ = tick.at.epoch;
    step_ = tick.at.step;
    time_ = static_cast<long long>(tick.at.time * 1000);
    metrics_ = Json::array();
  }
  void row(const Row& row) override {
    if (sender_ == nullptr || !selection_.takes(row)) return;
    const std::string layer = row.layer != nullptr ? '/' + std::string(row.layer) : "";
    each_value(row, [&](const RowValue& value) {
      metrics_.push_back({{"key", key_of(row.tag + ('/' + std::string(value.line)) + layer)},
                          {"value", number(value.value)},
                          {"timestamp", time_},
                          {"step", step_}});
      if (metrics_.size() == most_metrics) send_metrics();
    });
  }
  void end_tick() override {
    selection_.end_tick();
    send_metrics();
    flush();
  }
  void flush() override {
    if (sender_ == nullptr) return;
    for (auto& [what, entities] : waiting_) send(what, std::move(entities));
    waiting_.clear();
  }
  void end(const Ending& ending) override {
    selection_.end();
    if (sender_ == nullptr) return;
    flush();
    std::error_code none;
    const fs::path report = folder_ / "report.html", record = text_file_at(folder_ / "record.jsonl");
    if (!folder_.empty() && fs::is_regular_file(report, none)) send_artifact("report.html", report, "");
    if (!folder_.empty() && fs::is_regular_file(record, none)) send_artifact("record.txt", "", record.string() + "\n");
    Message last;
    last.what = "end";
    last.name = ending.how == LOUPE_END_FAILED ? "FAILED" : ending.how == LOUPE_END_INTERRUPTED ? "KILLED" : "FINISHED";
    last.time = ending.at.time;
    sender_->send(std::move(last));
    sender_->end(std::chrono::seconds(10));
    sender_.reset();
  }

 private:
  /// "finding.dead_units.net_fc1", for people; with who found it where another's is called so.
  std::string key_of_finding(const loupe_finding& finding) {
    std::string key = "finding." + text_of(finding.rule);
    for (const std::string& part : {text_of(layer_of(finding)), text_of(finding.parameter)})
      if (!part.empty()) key += '.' + part;
    if (!finding_keys_.insert(key_of(key)).second) finding_keys_.insert(key_of(key += '.' + text_of(finding.source)));
    return key_of(key);
  }
  void add(const char* what, Json entity) {
    if (sender_ == nullptr) return;
    Json& entities = waiting_[what];
    entities.push_back(std::move(entity));
    if (entities.size() == most_entities) send(what, std::exchange(entities, Json::array()));
  }
  void send_metrics() {
    if (sender_ == nullptr || metrics_.empty()) return;
    send("metrics", std::exchange(metrics_, Json::array()));
  }
  void send(const std::string& what, Json entities) {
    if (entities.empty()) return;
    Message message;
    message.what = what;
    message.bytes = bytes_a_metric * entities.size();
    message.entities = std::move(entities);
    message.epoch = epoch_;
    sender_->send(std::move(message));
  }
  void send_artifact(const char* name, const fs::path& file, const std::string& text) {
    Message message;
    message.what = "artifact";
    message.name = name;
    message.file = file;
    message.text = text;
    sender_->send(std::move(message));
  }

  Selection selection_;
  OutputPath path_;
  Host host_;
  std::string experiment_;
  fs::path folder_;
  std::unique_ptr<Sender> sender_;
  std::map<std::string, std::string> settings_;
  struct Tag {
    std::string key, message;
  };
  std::map<std::uint64_t, Tag> findings_;  // by number
  std::set<std::string> finding_keys_;
  std::map<std::string, Json> waiting_;  // what came since the last tick, by kind
  Json metrics_ = Json::array();
  double epoch_ = 0;
  std::uint64_t step_ = 0;
  long long time_ = 0;
};

}  // namespace
}  // namespace loupe::mlflow

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"mlflow", LOUPE_VERSION, "Runs on an MLflow server.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::mlflow::Mlflow);
