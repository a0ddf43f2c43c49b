#include "loader/visualizer_node.h"

#include <string>

namespace loupe {
namespace {

bool tells_of_a_tick(std::size_t function) {
  return function == offsetof(loupe_visualizer, row) || function == offsetof(loupe_visualizer, histogram) ||
         function == offsetof(loupe_visualizer, end_tick);
}

}  // namespace

void VisualizerState::before(std::size_t function, const char* speaker) {
  const char* fault = nullptr;
  // A visualizer without begin is begun from its creation on.
  if (function == offsetof(loupe_visualizer, end)) return;
  if (tells_of_a_tick(function) && !in_tick_) fault = "is told something of a tick outside of one";
  if (function == offsetof(loupe_visualizer, begin_tick) && in_tick_) fault = "begins a tick within a tick";
  if (ended_ && function != offsetof(loupe_visualizer, begin)) fault = "is told something after its end";
  if (fault != nullptr) break_contract(std::string(speaker) + " " + fault);
}

void VisualizerState::after(std::size_t function, loupe_status status) {
  if (function == offsetof(loupe_visualizer, begin)) ended_ = false;
  if (function == offsetof(loupe_visualizer, begin_tick)) in_tick_ = status == LOUPE_OK;
  // What fails ends the tick for this visualizer.
  if (function == offsetof(loupe_visualizer, end_tick) || status != LOUPE_OK) in_tick_ = false;
  if (function == offsetof(loupe_visualizer, end)) ended_ = true;
}

}  // namespace loupe
