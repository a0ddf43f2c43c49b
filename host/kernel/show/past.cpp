#include "show/past.h"

#include <loupe/draft/abi/history.h>
#include <loupe/error.h>
#include <loupe/options.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/log.h"

namespace loupe {
namespace {

/// Calls one function of the node behind `node`, as the host itself does.
template <auto function, class Message>
loupe_status tell_node(void* node, const Message* message, loupe_error* error) {
  return static_cast<VisualizerNode*>(node)->tell(function, *message, error);
}

/// A node in the form that the playing plugin sees.
const loupe_visualizer& table_of_node() {
  static const loupe_visualizer table = [] {
    loupe_visualizer made{};
    made.struct_size = sizeof made;
    made.tag = &tell_node<&loupe_visualizer::tag>;
    made.begin_tick = &tell_node<&loupe_visualizer::begin_tick>;
    made.row = &tell_node<&loupe_visualizer::row>;
    made.histogram = &tell_node<&loupe_visualizer::histogram>;
    made.end_tick = [](void* node, loupe_error* error) {
      return static_cast<VisualizerNode*>(node)->tell(&loupe_visualizer::end_tick, error);
    };
    made.finding = &tell_node<&loupe_visualizer::finding>;
    made.note = &tell_node<&loupe_visualizer::note>;
    return made;
  }();
  return table;
}

/// The path of the record that these visualizers write, relative to the run's directory; "" if they write none.
std::string record_of(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    const Options options(config.options->get());
    if (config.entry.component->name == std::string("record") && options.has("path"))
      return options.get<std::string>("path");
  }
  return "";
}

}  // namespace

Past::Past(const std::vector<ComponentConfig>& visualizers) : record_(record_of(visualizers)) {
  std::error_code none;
  start_ = std::filesystem::current_path(none).string();
  for (const ComponentConfig& config : visualizers) {
    const Options options(config.options->get());
    const auto wanted = options.has("past") ? options.get<std::string>("past") : "none";
    if (wanted != "none") wanted_by_[config.name] = wanted == "all";
  }
}

std::string Past::record_in(const std::string& directory) const {
  if (record_.empty()) return "";
  return (std::filesystem::path(start_) / directory / record_).lexically_normal().string();
}

void Past::tell(VisualizerNode& visualizer, VisualizerNode* storing, const std::string& directory, double before) {
  if (storing == nullptr) {
    if (record_.empty() || std::exchange(is_missed_, true)) return;
    return log(LOUPE_LOG_WARNING,
               "the visualizer 'record' of this run cannot play the epochs from before the run was "
               "resumed, so they are not shown; use the 'record' of Loupe");
  }
  detail::ErrorBuffer error;
  const loupe_status status =
      storing->play(directory, before, wanted_by_.at(visualizer.name()) ? uint32_t{LOUPE_DRAFT_HISTORY_EVENTS} : 0U,
                    table_of_node(), &visualizer, error.get());
  if (status == LOUPE_OK || status == LOUPE_NOT_FOUND) return;
  log(LOUPE_LOG_WARNING, "the visualizer '" + visualizer.name() +
                             "' could not load all epochs from before the run was resumed: " + error.text());
}

}  // namespace loupe
