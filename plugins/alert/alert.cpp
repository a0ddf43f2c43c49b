// The visualizer `alert`: runs the user's command for each new finding, for example to send a mail or to cancel a job.

#include <loupe/detail/own_thread.h>
#include <loupe/finding.h>
#include <loupe/plugin.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "alert/command.h"

namespace loupe {
namespace {

/// A finding as one line of JSON, with the member names of the record.
std::string json_of(const loupe_finding& finding, const std::string& run, const std::string& directory) {
  nlohmann::ordered_json json = {{"run", run}, {"directory", directory}};
  const auto text = [&](const char* name, const char* value) {
    if (value != nullptr && *value != '\0') json[name] = value;
  };
  const auto number = [&](const char* name, std::optional<double> value) {
    if (value) json[name] = *value;
  };
  json["severity"] = word_of(severity_words, finding.severity);
  text("rule", finding.rule);
  text("layer", layer_of(finding));
  text("parameter", finding.parameter);
  text("message", finding.message);
  text("advice", finding.advice);
  text("source", finding.source);
  text("caused_by", finding.caused_by);
  text("file", finding.file);
  if (finding.line > 0) json["file_line"] = finding.line;
  number("value", value_of(finding));
  number("threshold", threshold_of(finding));
  json["first_step"] = finding.first_step;
  json["first_epoch"] = finding.first_epoch;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Runs commands one after the other on a separate thread. Neither training nor other visualizers wait for it.
class Commands {
 public:
  Commands(std::string command, double seconds, const Host& host)
      : command_(std::move(command)), seconds_(seconds), host_(host) {}
  ~Commands() { end(); }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  void run(std::string input) {
    constexpr std::size_t most = 64;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (waiting_.size() == most) {
        ++dropped_;
        return;
      }
      waiting_.push_back(std::move(input));
      ends_ = false;
    }
    any_.notify_one();
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  /// Returns when all queued commands have run, after one timeout at most.
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
      until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_));
    }
    any_.notify_one();
    thread_.join();
    const std::size_t left = waiting_.size() + std::exchange(dropped_, 0);
    waiting_.clear();
    if (left > 0) host_.warn(std::to_string(left) + " findings came faster than the command ran for them");
  }

 private:
  using Clock = std::chrono::steady_clock;

  void work() {
    detail::name_own_thread("alert");
    for (;;) {
      std::string input;
      double seconds = seconds_;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        any_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
        if (ends_) seconds = std::chrono::duration<double>(until_ - Clock::now()).count();
        if (waiting_.empty() || !(seconds > 0)) return;
        input = std::move(waiting_.front());
        waiting_.pop_front();
      }
      run_one(input, seconds);
    }
  }
  void run_one(const std::string& input, double seconds) {
    try {
      const Ended ended = run_command(command_, input, seconds);
      if (!ended.in_time)
        warn_once("the command ran for longer than its timeout and was killed; shorten it, or raise timeout");
      else if (ended.exit_code != 0)
        warn_once("the command ended with exit code " + std::to_string(ended.exit_code) + ": " + command_);
    } catch (const std::system_error& e) {
      warn_once(std::string("the command cannot be run: ") + e.what());
    }
  }
  void warn_once(const std::string& what) {
    if (!std::exchange(has_warned_, true)) host_.warn(what);
  }

  const std::string command_;
  const double seconds_;
  const Host host_;
  std::mutex mutex_;
  std::condition_variable any_;
  std::deque<std::string> waiting_;
  std::size_t dropped_ = 0;
  bool ends_ = false, has_warned_ = false;
  Clock::time_point until_;
  std::thread thread_;
};

class Alert : public Visualizer {
 public:
  static constexpr const char* name = "alert";
  static constexpr const char* help =
      "runs a command for each new finding, which is one line of JSON on its standard input";
  static std::vector<const char*> gives() {
    return {
        "a line of JSON on the command's standard input: the run and its directory, severity, rule, layer, message, "
        "advice, value, threshold, first step and epoch, and the line of source if known"};
  }
  static constexpr const char* example = "alert: {run: \"mail -s 'a fault in training' me@example.org\"}";
  static std::vector<Option> options() {
    return {{"run", "", "the command, which `sh -c` runs; the finding never becomes a part of it"},
            {"severity", "error", "the least severity of the findings that it runs for", {"info", "warning", "error"}},
            {"timeout", 10.0, "seconds after which the command is killed", 0.1, 3600}};
  }

  Alert(const Options& options, const Host& host)
      : host_(host),
        command_(options.get<std::string>("run")),
        commands_(command_, options.get<double>("timeout"), host),
        least_(options.get<std::string>("severity")) {}

  void begin(const Run& run) override {
    run_ = run.name;
    directory_ = run.directory;
    if (command_.empty()) host_.warn("no command is given, so nothing is run; set its option run");
  }
  void begin_tick(const Tick&) override {}
  void row(const Row&) override {}
  void finding(const loupe_finding& finding) override {
    if (command_.empty() || finding.state != LOUPE_FINDING_RAISED || !is_severe(finding)) return;
    commands_.run(json_of(finding, run_, directory_));
  }
  void end(const Ending&) override { commands_.end(); }

 private:
  bool is_severe(const loupe_finding& finding) const {
    if (least_ == "info") return true;
    return finding.severity == LOUPE_SEVERITY_ERROR ||
           (least_ == "warning" && finding.severity == LOUPE_SEVERITY_WARNING);
  }

  const Host host_;
  const std::string command_;
  Commands commands_;
  const std::string least_;
  std::string run_, directory_;
};

}  // namespace
}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"alert", LOUPE_VERSION, "Runs a command for each new finding.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::Alert);
