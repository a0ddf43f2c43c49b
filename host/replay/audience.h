#ifndef LOUPE_REPLAY_AUDIENCE_H
#define LOUPE_REPLAY_AUDIENCE_H

#include <loupe/abi.h>

#include <vector>

#include "show/visualizer_node.h"

namespace loupe::replay {

/// The visualizers that a record is played to. Unlike in training, a visualizer that fails ends the replay: what it
/// throws is an Error that names it.
class Audience {
 public:
  explicit Audience(const std::vector<ComponentConfig>& visualizers);

  /// Calls one function of each, such as &loupe_visualizer::value, with what is to be told.
  template <class... Arguments>
  void tell(Arguments&&... arguments) {
    for (VisualizerNode& member : members_) {
      detail::ErrorBuffer error;
      if (member.tell(arguments..., error.get()) != LOUPE_OK) fail(member, error.text());
    }
  }

 private:
  [[noreturn]] static void fail(const VisualizerNode& member, const char* what);

  std::vector<VisualizerNode> members_;
};

}  // namespace loupe::replay

#endif
