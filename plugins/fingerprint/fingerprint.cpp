// The lens `fingerprint`: writes numbers of all tensors in a model's first steps, for `loupe compare --port`.

#include "fingerprint/writing.h"

#include <fcntl.h>
#include <loupe/files/descriptor.h>
#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>

#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace loupe::fingerprint {
namespace {

/// The output file. Each line is written at once, so that a program that fails in its first step leaves all results up
/// to the failure. Any thread.
class File {
 public:
  File(const Host& host, const Options& options) : host_(host), path_(options) {}

  /// Throws Error if the file cannot be written.
  void append(Writing& writing) {
    const std::lock_guard lock(mutex_);
    const std::string text = writing.new_text();
    if (text.empty()) return;
    const loupe_run* run = host_.run();
    const std::filesystem::path file = path_.in(run != nullptr ? run->directory : "");
    try {
      if (std::exchange(is_begun_, true)) {
        const Descriptor output(file, O_WRONLY | O_APPEND);
        return write_all(output.get(), text);
      }
      if (std::filesystem::exists(file)) keep_replaced(file, run != nullptr ? run->start_time : 0);
      Replacement replacement(file);
      replacement.write(text);
      replacement.commit(false);
    } catch (const std::system_error& reason) {
      throw cannot_write(file, reason, "this run cannot be compared with a port");
    }
  }

 private:
  Host host_;
  OutputPath path_;
  std::mutex mutex_;
  bool is_begun_ = false;
};

/// Passes the tensors of one stream on to be written. It has no series.
class Reading : public Preprocessor {
 public:
  using Take = void (*)(Writing&, const Place&, const Event&);
  Reading(Writing& writing, File& file, Place place, Take take)
      : writing_(writing), file_(file), place_(std::move(place)), take_(take) {}

  Request request() const override {
    Request request;
    request.wants_tensor = true;
    return request;
  }
  void process(const Event& event) override {
    take_(writing_, place_, event);
    file_.append(writing_);
  }

 private:
  Writing& writing_;
  File& file_;
  Place place_;
  Take take_;
};

}  // namespace

class Fingerprint : public Lens {
 public:
  static constexpr const char* name = "fingerprint";
  static constexpr const char* help = "stores numbers of the first steps, to find where a port differs";
  static std::vector<const char*> gives() {
    return {
        "fingerprint.jsonl: the shape, sums, extremes and 64 elements of each tensor of the first steps, and the "
        "settings of modules and optimizers, for loupe compare --port"};
  }
  static constexpr const char* example = "fingerprint: {steps: 5}";
  static std::vector<Option> options() {
    return {{"steps", 3, "how many steps of the optimizer are kept", 1.0},
            {"path", "fingerprint.jsonl", "the file; relative to the run's directory"}};
  }

  Fingerprint(const Options& options, const Host& host)
      : host_(host), file_(host, options), steps_(options.get<uint64_t>("steps")), writing_(host, steps_) {}

  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;
  ~Fingerprint() override {
    if (is_over_ || !writing_.has_begun()) return;
    try {
      host_.warn("only " + std::to_string(writing_.steps_taken()) + " of " + std::to_string(steps_) +
                 " steps were seen, so the fingerprint is incomplete; attach the optimizer");
    } catch (const std::exception&) {
      // In a destructor, nobody can receive the message.
    }
  }

  void attach() override {
    sources_.push_back(watch_pushes(
        {"push"}, reading({"loss", ""}, [](Writing& to, const Place&, const Event& event) { to.take_loss(event); })));
  }
  void visit(const Module& module) override {
    if (is_over_ || module.is_loss()) return;
    writing_.add(module);
    const std::string own = writing_.name_of(module);
    const auto add = [&](const char* gatherer, const char* label, Place place, Reading::Take take) {
      sources_.push_back(watch(module, Watch(gatherer).label(label), reading(std::move(place), take)));
      ids_.push_back(module.id());
    };
    if (!module.is_functional()) {
      add("forward_input", nullptr, {"input", own},
          [](Writing& to, const Place& place, const Event& event) { to.take(place, event, true); });
    }
    add("forward", nullptr, {"output", own},
        [](Writing& to, const Place& place, const Event& event) { to.take(place, event, false); });
    const auto gradient = [](Writing& to, const Place& place, const Event& event) { to.take_gradient(place, event); };
    add("output_gradient", nullptr, {"output_gradient", own}, gradient);
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      if (is_buffer(module.parameter(i))) continue;
      const char* parameter = module.parameter(i).name;
      add("step_gradient", parameter, {"gradient", own, parameter}, gradient);
      add("optimizer_step", parameter, {"update", own, parameter},
          [](Writing& to, const Place& place, const Event& event) {
            if (event.tensor()) to.take_update(place, *event.tensor().raw());
          });
    }
  }
  void forget(const Module& module) override {
    writing_.forget(module);
    for (std::size_t i = 0; i < ids_.size();) {
      // The first source is the one of losses, which has no module.
      if (ids_[i] != module.id()) {
        ++i;
        continue;
      }
      ids_.erase(ids_.begin() + static_cast<std::ptrdiff_t>(i));
      sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  void step(const loupe_step& step, Report&) override {
    if (is_over_ || !is_measured(step)) return;
    writing_.end_step(step);
    file_.append(writing_);
    if (!writing_.is_complete()) return;
    is_over_ = true;
    for (const Source& source : sources_) source.rest();
  }
  void report(Report&) override { file_.append(writing_); }

 private:
  Reading& reading(Place place, Reading::Take take) {
    return readings_.emplace_back(writing_, file_, std::move(place), take);
  }
  Host host_;
  File file_;
  uint64_t steps_;
  Writing writing_;
  std::deque<Reading> readings_;  // kept after a module is forgotten, because it may still be in an event
  std::vector<Source> sources_;   // the source of losses comes first
  std::vector<uint64_t> ids_;     // module ids of the other sources
  bool is_over_ = false;
};

}  // namespace loupe::fingerprint

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"fingerprint", LOUPE_VERSION, "Stores numbers of the first steps for comparison.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::fingerprint::Fingerprint);
