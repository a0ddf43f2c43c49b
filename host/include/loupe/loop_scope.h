#pragma once

#include "loupe/version.h"

namespace loupe {

class Inspector;

namespace host_detail {

/// As long as a loop over epochs or steps: tells the inspector when it is left, and where an exception leaves it.
class LOUPE_API LoopScope {
 public:
  enum class Of { epochs, steps };
  LoopScope(Inspector* inspector, Of of);
  ~LoopScope();
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;

 private:
  Inspector* inspector_;
  Of of_;
  int exceptions_;
};

}  // namespace host_detail
}  // namespace loupe
