#include "inspector/forked_child.h"

#include "core/forks.h"
#include "torch/model/registry.h"

namespace loupe {

void leave_models_at_forks() {
  static const bool once = [] {
    at_fork([] {
      active_attachments.store(0);
      counting_attachments.store(0);
      Registry::instance().abandon();
    });
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace loupe
