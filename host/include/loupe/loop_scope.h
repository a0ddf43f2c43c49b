#ifndef LOUPE_LOOP_SCOPE_H
#define LOUPE_LOOP_SCOPE_H

#include "loupe/version.h"

namespace loupe {

class Inspector;

namespace detail {

/// As long as a loop over epochs or steps: tells the inspector where an exception leaves it.
class LOUPE_API LoopScope {
 public:
  explicit LoopScope(Inspector* inspector);
  ~LoopScope();
  LoopScope(const LoopScope&) = default;
  LoopScope& operator=(const LoopScope&) = default;

 private:
  Inspector* inspector_;
  int exceptions_;
};

}  // namespace detail
}  // namespace loupe

#endif
