#include "record/visualizer_group.h"

#include <loupe/error.h>

#include <exception>

namespace loupe::replay {

VisualizerGroup::VisualizerGroup(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    try {
      visualizers_.emplace_back(config.name, config.entry, config.options->get(), this);
    } catch (const std::exception& e) {
      throw Error("the visualizer '" + config.name + "' cannot be created: " + e.what());
    }
  }
}

void VisualizerGroup::fail(const VisualizerNode& visualizer, const char* what) {
  throw Error("the visualizer '" + visualizer.name() + "' failed: " + what);
}

void VisualizerGroup::begin_tick(const Tick& tick) {
  if (editor_ != nullptr) editor_->begin_tick(tick);
  tell(&loupe_visualizer::begin_tick, tick);
}

void VisualizerGroup::row(const Row& row) {
  if (editor_ != nullptr) return editor_->row(row);
  tell(&loupe_visualizer::row, row);
}

void VisualizerGroup::histogram(const Histogram& histogram) {
  if (editor_ != nullptr) return editor_->histogram(histogram);
  tell(&loupe_visualizer::histogram, histogram);
}

void VisualizerGroup::end_tick() {
  if (editor_ != nullptr) editor_->show_numbers();
  tell(&loupe_visualizer::end_tick);
  if (editor_ != nullptr) editor_->end_tick();
}

void VisualizerGroup::flush() {
  for (VisualizerNode& visualizer : visualizers_)
    if (!more_follow_ || together_.count(&visualizer) == 0) tell_one(visualizer, &loupe_visualizer::flush);
}

}  // namespace loupe::replay
