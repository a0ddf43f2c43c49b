#include "pipeline/step_trace.h"

#include <loupe/files/replacement.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/utf8.h"

namespace loupe {
namespace {

using Json = nlohmann::ordered_json;

enum Track { steps_track = 1, forward_track, backward_track, optimizer_track, loupe_track };
constexpr const char* track_names[] = {"", "steps", "forward", "backward", "optimizer", "Loupe"};

Json named(const char* what, int track, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

}  // namespace

void StepTrace::add(const TimedStep& step, uint64_t number) {
  using Kind = TimedStep::Span::Kind;
  std::vector<std::string> layers;
  for (const TimedStep::Layer& layer : step.layers) {
    const auto node = layer.node.lock();
    layers.push_back(node != nullptr ? utf8(node->description().name) : "a module that is gone");
  }
  Json parts;
  for (std::size_t i = 0; i < step_parts; ++i)
    parts[std::string(name_of(static_cast<StepPart>(i))) + " ms"] = 1e3 * step.parts[i];
  events_.push_back(
      {"step " + std::to_string(number), "step", parts.dump(), steps_track, step.begin, step.begin + step.seconds});
  for (const TimedStep::Span& span : step.spans) {
    const std::string layer = span.layer >= 0 ? layers[static_cast<std::size_t>(span.layer)] : "";
    if (span.kind == Kind::forward)
      events_.push_back({layer.empty() ? "a module" : layer, "forward", "{}", forward_track, span.begin, span.end});
    if (span.kind == Kind::optimizer)
      events_.push_back({"optimizer step", "optimizer", "{}", optimizer_track, span.begin, span.end});
    if (span.kind == Kind::loupe) events_.push_back({"Loupe", "loupe", "{}", loupe_track, span.begin, span.end});
  }
  add_backward(step, layers);
  ++steps_;
}

/// Nodes of one layer that follow each other lie within a span of the layer's.
void StepTrace::add_backward(const TimedStep& step, const std::vector<std::string>& layers) {
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
}

void StepTrace::add(const loupe_finding& finding, double when) {
  if (finding.state != LOUPE_FINDING_RAISED || is_whole()) return;
  Json words;
  words["message"] = finding.message;
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
  for (const Event& event : events_) {
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

}  // namespace loupe
