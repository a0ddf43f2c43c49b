#include <loupe/draft/abi/tensor_math.h>
#include <loupe/draft/measured.h>
#include <loupe/plugin.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "incidents/incident_folder.h"

namespace loupe::incidents {
namespace {

// A limit, because a trainer may push a new name at each step, and an optimizer may have one group per parameter.
constexpr std::size_t most_series = 256;

constexpr const char* at_finding = "finding";

/// The kind by which incidents are counted. All abnormal ends (SIGTERM, terminate, …) are one kind.
std::string kind_of_incident(const std::string& how) {
  return how == at_finding || how == "dump" || how == "rank" ? how : "end";
}

loupe_event event_of(uint32_t tap, uint32_t flags, uint64_t step) {
  loupe_event event{};
  event.tap = tap;
  event.flags = flags;
  event.step = step;
  return event;
}

/// Keeps the last values that the trainer pushed under one name.
class PushWatch : public Preprocessor {
 public:
  explicit PushWatch(decltype(KeptSteps::pushes)& kept) : kept_(kept) {}
  Request request() const override { return {}; }
  void process(const Event& event) override {
    const std::string_view label = event.label();
    auto known = kept_.find(label);
    if (known == kept_.end()) {
      if (kept_.size() >= most_series) return;
      known = kept_.try_emplace(std::string(label)).first;
    }
    known->second.add(event_of(LOUPE_TAP_PUSH, event.raw()->flags, event.step()), event.scalar());
  }

 private:
  decltype(KeptSteps::pushes)& kept_;
};

}  // namespace

/// Keeps recent measurements that were made for other lenses, pushed values and learning rates; writes them after a
/// fault.
class Incidents : public Lens {
 public:
  static constexpr const char* name = "incidents";
  static constexpr const char* help =
      "keeps the last 64 steps of all measurements, and writes them at a fault; on by default in a run with a "
      "folder";
  static constexpr const char* example = "incidents: {most: 5, severities: [error, warning]}";
  static std::vector<const char*> gives() {
    return {
        "incident-STEP: a folder with the last steps of each stream, the findings, the configuration and, if "
        "requested, tensors; for loupe replay"};
  }
  static std::vector<Option> options() {
    return {
        {"most", 3, "how many to write at findings, as many at abnormal ends, and as many for the trainer", 0, 1000},
        {"severities",
         Strings{"error"},
         "severities of findings: the first finding of each rule has one written",
         {"error", "warning", "info"}},
        {"tensors", false, "also put the blamed module's parameters and gradients there, for torch.load"}};
  }

  Incidents(const Options& options, const Host& host) : host_(host), most_(options.get<int>("most")) {
    for (const std::string& word : options.get<Strings>("severities"))
      severities_.insert(value_called(severity_words, word).value_or(0));
    // Load the service for saving tensors now: that is not possible while the process ends.
    saves_ = options.get<bool>("tensors") && host.get_extension(LOUPE_DRAFT_TENSOR_FILES_ID) != nullptr;
  }

  const void* get_extension(const char* id) override {
    if (std::strcmp(id, LOUPE_DRAFT_MEASURED_ID) == 0) return draft::measured_extension<Incidents>();
    return std::strcmp(id, LOUPE_DRAFT_INCIDENTS_ID) == 0 ? draft::incidents_extension<Incidents>() : nullptr;
  }

  void attach() override { watch_pushes({"push"}, pushes_); }
  void visit(const Module& module) override {
    const std::lock_guard lock(mutex_);
    kept_.modules[module.id()].module = module.raw();
  }
  void forget(const Module& module) override {
    const std::lock_guard lock(mutex_);
    kept_.modules.erase(module.id());
  }
  void report(Report&) override {}

  StreamSteps* begin_stream(const Module& module, const char* stream) {
    const std::lock_guard lock(mutex_);
    std::list<StreamSteps>& streams = kept_.modules[module.id()].streams;
    const auto same =
        std::find_if(streams.rbegin(), streams.rend(), [&](const auto& each) { return each.name == stream; });
    const auto place = same != streams.rend() ? same.base() : streams.end();
    return &*streams.insert(place, StreamSteps{stream, {}});
  }

  void step(const Step& step, Report&) override {
    if (step.optimizer == nullptr || !is_measured(step)) return;
    const loupe_optimizer& optimizer = *step.optimizer;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < optimizer.group_count; ++i) {
      auto known = kept_.rates.find({optimizer.id, i});
      if (known == kept_.rates.end()) {
        if (kept_.rates.size() >= most_series) return;
        known = kept_.rates.try_emplace({optimizer.id, i}).first;
        const std::string model = text_of(optimizer.model_name);
        known->second.name = model + (model.empty() ? "" : " ") + optimizer.type + " group " + std::to_string(i);
      }
      const uint64_t steps_before = std::max<uint64_t>(step.at.step, 1) - 1;
      known->second.steps.add(event_of(LOUPE_TAP_OPTIMIZER_STEP, 0, steps_before),
                              learning_rate_of(*optimizer.groups[i]).value_or(NAN));
    }
  }

  bool writes_at(const loupe_finding& finding) {
    const bool is_of_interest = finding.state != LOUPE_FINDING_GONE && severities_.count(finding.severity) != 0;
    return is_of_interest && has_room(at_finding) && rules_.insert(text_of(finding.rule)).second;
  }

  std::string write(const loupe_draft_incident& incident) {
    // At an abnormal end a different thread may hold the lock and never release it.
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (int i = 0; i < 100 && !lock.owns_lock(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      static_cast<void>(lock.try_lock());
    }
    if (!lock.owns_lock()) throw Error("another thread is using the kept steps");
    const loupe_run* const run = host_.run();
    if (run == nullptr) throw Error("there is no run");
    if (!admit(incident, *run)) return "";
    written_ = incident.at.step;
    return write_incident_folder(incident, *run, kept_, host_, saves_);
  }

 private:
  bool has_room(const std::string& kind) const {
    const auto written = count_.find(kind);
    return written == count_.end() ? most_ > 0 : written->second < most_;
  }

  /// Whether the run may write one more incident of this kind; if so, counts it. A resumed run also counts incidents in
  /// its folder. Logs the reason if a requested one is refused.
  bool admit(const loupe_draft_incident& incident, const loupe_run& run) {
    if (!std::exchange(counted_, true) && (run.flags & LOUPE_RUN_RESUMED) != 0) {
      for (const Earlier& earlier : incidents_in(run.directory)) {
        ++count_[kind_of_incident(earlier.how)];
        if (!earlier.rule.empty()) written_rules_.insert(earlier.rule);
      }
    }
    const std::string how = incident.how, kind = kind_of_incident(how);
    if (kind == at_finding && incident.finding != nullptr && written_rules_.count(incident.finding->rule) != 0)
      return false;
    // If all ranks have the same fault, keep only one incident.
    if (kind == "rank" && written_ && incident.at.step < *written_ + LastSteps::size) return false;
    if (has_room(kind)) return ++count_[kind] > 0;
    if (kind == at_finding) return false;
    const std::string what = how == "dump" ? "dump(\"" + std::string(incident.why) + "\") writes nothing"
                                           : "the last steps before " + how + " are not kept";
    host_.warn(what + ", because this run has written as many as it may (" + std::to_string(most_) +
               "); raise 'incidents' under run");
    return false;
  }

  Host host_;
  const int most_;
  std::set<uint32_t> severities_;
  bool saves_;
  std::map<std::string, int> count_;             // by kind
  bool counted_ = false;                         // incidents from before the run was resumed are counted
  std::set<std::string> rules_, written_rules_;  // rules with an incident, now and before the run was resumed
  std::optional<uint64_t> written_;              // the step of the last one

  std::mutex mutex_;  // guards kept_, except for streams and pushes, which each module's own lock guards
  KeptSteps kept_;
  PushWatch pushes_{kept_.pushes};
};

}  // namespace loupe::incidents

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"incidents", LOUPE_VERSION, "Keeps the last steps before a fault.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::incidents::Incidents);
