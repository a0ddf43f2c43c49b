#ifndef LOUPE_PIPELINE_FORWARD_TENSORS_H
#define LOUPE_PIPELINE_FORWARD_TENSORS_H

#include <loupe/abi.h>

namespace loupe {

/// What went into a forward and what came out of it. Made only for those who read it, since most events pass without.
class ForwardTensors {
 public:
  /// Fills in the event's inputs and outputs, which are good as long as this is. On the event's thread.
  virtual void lend(loupe_event& event) = 0;

 protected:
  ~ForwardTensors() = default;
};

}  // namespace loupe

#endif
