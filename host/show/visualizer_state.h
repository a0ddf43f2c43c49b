#ifndef LOUPE_SHOW_VISUALIZER_STATE_H
#define LOUPE_SHOW_VISUALIZER_STATE_H

#include <loupe/abi.h>

#include <cstddef>

namespace loupe {

/// Whether a visualizer's functions are called in the states that their contracts name. Used in strict mode.
class VisualizerState {
 public:
  /// @param function  its offset in loupe_visualizer. Ends the process where the call must not be.
  void before(std::size_t function, const char* speaker);
  void after(std::size_t function, loupe_status status);

 private:
  bool in_tick_ = false, ended_ = false;
};

}  // namespace loupe

#endif
