#include "timing/timed_steps.h"

#include <loupe/draft/abi/step_time.h>
#include <loupe/files/replacement.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "core/text.h"
#include "timing/step_timer.h"

namespace loupe {
namespace {

using Json = nlohmann::ordered_json;

enum Track { steps_track = 1, forward_track, backward_track, optimizer_track, loupe_track };
constexpr const char* track_names[] = {"", "steps", "forward", "backward", "optimizer", "Loupe"};

Json named(const char* what, int track, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

void tell(Stream* stream, const char* label, double value) {
  if (stream != nullptr)
    stream->dispatch(nullptr, LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED, nullptr, value, label);
}

bool is_watched(const Stream* stream) {
  return stream != nullptr && !stream->resting();
}

}  // namespace

void StepTrace::add(TimedStep step) {
  using Kind = TimedStep::Span::Kind;
  // The host runs ahead of a device, whose times begin with the step on the host.
  if (const double late = end_ - step.begin; step.on_device && late > 0) {
    step.begin += late;
    for (TimedStep::Span& span : step.spans) span.begin += late, span.end += late;
  }
  end_ = step.begin + step.seconds;
  std::vector<std::string> layers;
  for (const TimedStep::Layer& layer : step.layers) {
    const auto node = layer.node.lock();
    layers.push_back(node != nullptr ? utf8(node->description().name) : "a deleted module");
  }
  Json parts;
  for (std::size_t i = 0; i < step_parts; ++i)
    parts[std::string(name_of(static_cast<StepPart>(i))) + " ms"] = 1e3 * step.parts[i];
  events_.push_back({"step " + std::to_string(step.number), "step", parts.dump(), steps_track, step.begin,
                     step.begin + step.seconds});
  const std::size_t before = events_.size();
  for (const TimedStep::Span& span : step.spans) {
    const std::string layer = span.layer >= 0 ? layers[static_cast<std::size_t>(span.layer)] : "";
    if (span.kind == Kind::forward)
      events_.push_back({layer.empty() ? "a module" : layer, "forward", "{}", forward_track, span.begin, span.end});
    if (span.kind == Kind::optimizer)
      events_.push_back({"optimizer step", "optimizer", "{}", optimizer_track, span.begin, span.end});
    if (span.kind == Kind::loupe) events_.push_back({"Loupe", "loupe", "{}", loupe_track, span.begin, span.end});
  }
  add_containers(before, forward_track);
  add_backward(step, layers);
  ++steps_;
}

/// Adds containers whose forward no tap sees: consecutive modules with a common name prefix get a span around them.
/// @param from  the first of the step's events
void StepTrace::add_containers(std::size_t from, int track) {
  std::vector<Event> layers;
  double open_until = 0;
  for (std::size_t i = from; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const bool is_layer = event.track == track && event.category != "node";
    if (!is_layer || event.begin < open_until) continue;  // it is in a container that is seen
    open_until = event.end;
    layers.push_back(event);
  }
  for (std::size_t depth = 1, deepest = 1; depth <= deepest; ++depth) {
    const auto container_of = [&](const std::string& name) {
      std::size_t end = 0;
      for (std::size_t part = 0; part < depth; ++part) {
        end = name.find('.', part == 0 ? 0 : end + 1);
        if (end == std::string::npos) return std::string();
      }
      deepest = std::max(deepest, depth + 1);
      return name.substr(0, end);
    };
    for (std::size_t i = 0; i < layers.size();) {
      const std::string container = container_of(layers[i].name);
      std::size_t last = i;
      while (last + 1 < layers.size() && container_of(layers[last + 1].name) == container) ++last;
      if (!container.empty())
        events_.push_back({container, layers[i].category, "{}", track, layers[i].begin, layers[last].end});
      i = last + 1;
    }
  }
}

/// Adds a span of the layer around its consecutive nodes.
void StepTrace::add_backward(const TimedStep& step, const std::vector<std::string>& layers) {
  const std::size_t before = events_.size();
  std::vector<const TimedStep::Span*> nodes;
  for (const TimedStep::Span& span : step.spans) {
    if (span.kind == TimedStep::Span::Kind::backward) nodes.push_back(&span);
  }
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i;
    double last = nodes[i]->end;
    for (; end < nodes.size() && nodes[end]->layer == nodes[i]->layer; ++end) last = std::max(last, nodes[end]->end);
    const int layer = nodes[i]->layer;
    const std::string name = layer >= 0 ? layers[static_cast<std::size_t>(layer)] : "between modules";
    events_.push_back({name, "backward", "{}", backward_track, nodes[i]->begin, last});
    for (; i < end; ++i)
      events_.push_back({utf8(nodes[i]->name), "node", "{}", backward_track, nodes[i]->begin, nodes[i]->end});
  }
  add_containers(before, backward_track);
}

void StepTrace::add(const loupe_finding& finding, double when) {
  if (finding.state != LOUPE_FINDING_RAISED || is_whole()) return;
  Json words;
  words["message"] = message_with_place(finding);
  if (finding.advice != nullptr) words["advice"] = finding.advice;
  if (finding.layer != nullptr) words["layer"] = finding.layer;
  events_.push_back({finding.rule, "finding", words.dump(-1, ' ', false, Json::error_handler_t::replace), steps_track,
                     when, when, /*is_mark=*/true});
}

void StepTrace::write(const std::filesystem::path& file, const std::string& run) const {
  double first = events_.empty() ? 0 : events_.front().begin;
  for (const Event& event : events_) first = std::min(first, event.begin);
  const auto microseconds = [&](double time) { return 1e6 * (time - first); };

  Json events = Json::array();
  events.push_back(named("process_name", 0, utf8(run)));
  for (int track = steps_track; track <= loupe_track; ++track) {
    events.push_back(named("thread_name", track, track_names[track]));
    events.push_back(
        {{"name", "thread_sort_index"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"sort_index", track}}}});
  }
  // Nested spans come after the outer one.
  std::vector<Event> ordered = events_;
  const auto rank = [](const Event& event) { return event.category == "node" ? 2 : 1; };
  std::stable_sort(ordered.begin(), ordered.end(), [&](const Event& a, const Event& b) {
    if (a.track != b.track) return a.track < b.track;
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return std::pair(rank(a), a.name.size()) < std::pair(rank(b), b.name.size());
  });
  for (const Event& event : ordered) {
    Json told = {{"name", event.name},
                 {"cat", event.category},
                 {"ph", event.is_mark ? "i" : "X"},
                 {"ts", microseconds(event.begin)},
                 {"pid", 1},
                 {"tid", event.track}};
    if (event.is_mark) {
      told["s"] = "p";
    } else {
      told["dur"] = 1e6 * (event.end - event.begin);
    }
    told["args"] = Json::parse(event.arguments);
    events.push_back(std::move(told));
  }
  const Json whole = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  Replacement replacement(file);
  replacement.write(whole.dump(-1, ' ', false, Json::error_handler_t::replace));
  replacement.write("\n");
  replacement.commit(false);
}

TimedSteps::~TimedSteps() {
  StepTimer::instance().drop(this, /*ends=*/true);
}

void TimedSteps::trace(const TimedStep& step) {
  const bool is_wanted = steps_ >= request_.after && step.number > traced_from_;
  if (is_wanted && std::exchange(is_early_, false)) trace_.emplace(request_.steps);
  if ((is_wanted || is_early_) && !trace_->is_whole()) trace_->add(step);
}

void TimedSteps::deliver() {
  while (auto step = StepTimer::instance().take(this)) {
    if (trace_ && !step->spans.empty()) trace(*step);
    tell_layers(*step);
    tell_whole(*step);
  }
  if (trace_ && !is_early_ && trace_->is_whole()) write_trace();
}

void TimedSteps::found(const loupe_finding& finding) {
  if (trace_) trace_->add(finding, steady_time());
}

void TimedSteps::end() {
  if (!trace_) return;
  if (trace_->steps() > 0) return write_trace();
  log(LOUPE_LOG_WARNING, "no step is traced, because the run ended before " + std::to_string(warm_up + 1) +
                             " steps of an optimizer were over, and the first two are not like the others");
}

void TimedSteps::write_trace() {
  const std::filesystem::path file = std::filesystem::path(request_.folder()) / "trace.json";
  try {
    trace_->write(file, request_.run);
    const uint64_t steps = trace_->steps();
    log(LOUPE_LOG_INFO, std::to_string(steps) + (steps == 1 ? " step is" : " steps are") + " traced in '" +
                            file.string() +
                            "': open it in https://ui.perfetto.dev, which keeps it on your machine, or in "
                            "chrome://tracing");
  } catch (const std::exception& reason) {
    log(LOUPE_LOG_WARNING, "the trace cannot be written to '" + file.string() + "': " + reason.what());
  }
  trace_.reset();
}

void TimedSteps::tell_layers(const TimedStep& step) {
  for (const TimedStep::Layer& layer : step.layers) {
    const auto node = layer.node.lock();
    if (node == nullptr) continue;
    if (layer.time.calls > 0 || layer.time.backward > 0) {
      Stream* time = node->stream(LOUPE_DRAFT_TAP_STEP_TIME);
      tell(time, "forward", layer.time.forward);
      tell(time, "backward", layer.time.backward);
      tell(time, "calls", layer.time.calls);
    }
    if (step.has_memory) tell(node->stream(LOUPE_DRAFT_TAP_STEP_MEMORY), "kept", layer.kept);
  }
}

void TimedSteps::tell_whole(const TimedStep& step) {
  Stream* time = modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_TIME);
  if (step.on_device) tell(time, "device", 1);
  for (std::size_t i = 0; i < step_parts; ++i) tell(time, name_of(static_cast<StepPart>(i)), step.parts[i]);
  tell(time, "step", step.seconds);
  if (!step.has_memory) return;
  double kept = 0;
  for (const TimedStep::Layer& layer : step.layers) kept += layer.kept;
  Stream* memory = modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_MEMORY);
  tell(memory, "kept", kept);
  tell(memory, "kept outside", step.kept_outside);
  tell(memory, "optimizer state", step.optimizer_state);
}

void TimedSteps::stepped(uint64_t number, bool looks) {
  const bool memory = is_watched(modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_MEMORY));
  const bool time = is_watched(modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_TIME));
  if (!memory && !time && !trace_) return;
  StepTimer::instance().close(this, number);
  const uint64_t since = ++steps_ - asked_at_;
  if (steps_ == request_.after) traced_from_ = number;
  traces_ = false;
  if (!looks || steps_ < warm_up) return;
  const bool traces = trace_ && (!trace_->is_whole() || (is_early_ && steps_ >= request_.after));
  const bool is_due = (memory || time) && (asked_at_ == 0 || since >= pause());
  if (!is_due && !traces) return;
  traces_ = traces;
  StepTimer::instance().request(this, {memory && asked_since_tick_ == 0 && !traces, traces});
  if (!is_due) return;
  asked_at_ = steps_;
  ++asked_since_tick_;
}

void TimedSteps::interrupt() {
  asked_since_tick_ = 0;
  if (traces_) return;                                  // the trace shows the tick
  if (StepTimer::instance().drop(this)) asked_at_ = 0;  // the next one will do
}

std::unique_ptr<StepTiming> make_step_timing(ModuleTable& modules, TraceRequest trace) {
  return std::make_unique<TimedSteps>(modules, std::move(trace));
}

}  // namespace loupe
