#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/own_time.h"
#include "core/shared.h"

namespace loupe {

class ModuleNode;

/// Receives the parts of a timed step; the part `timing` implements it. It is never destroyed, because a thread may
/// call a listener that it read before. Its functions do nothing on threads that have no share in the step.
class WorkListener {
 public:
  using Nodes = std::vector<std::weak_ptr<ModuleNode>>;

  /// Null while no step is timed.
  static WorkListener* get() { return listener_.load(std::memory_order_acquire); }
  /// The same for the thread that takes the step; null on others.
  static WorkListener* here() {
    WorkListener* const listener = get();
    return listener != nullptr && listener->is_here() ? listener : nullptr;
  }
  LOUPE_SHARED static void set(WorkListener* listener);

  virtual bool is_here() const = 0;
  /// Loupe's own work begins, also in a node of the graph that another thread runs for the step. False if the thread
  /// has no share in the step: then leave out leave_loupe.
  virtual bool enter_loupe() = 0;
  virtual void leave_loupe() = 0;
  virtual void enter_optimizer() = 0;
  virtual void leave_optimizer() = 0;
  /// False if the forward does not count: then leave out leave_forward.
  /// @param module  only to compare  @param made  the number of graph nodes that this thread has created
  /// @param nodes  called for a module that is new in this step
  virtual bool enter_forward(const void* module, bool trains, int64_t made, const std::function<Nodes()>& nodes) = 0;
  virtual void leave_forward(int64_t made) = 0;

 protected:
  WorkListener() = default;
  ~WorkListener() = default;

 private:
  // Hidden, so that reading it is one instruction.
  __attribute__((visibility("hidden"))) static std::atomic<WorkListener*> listener_;
};

/// Counts its lifetime as Loupe's own work. For parts there is in_loupe_time.
class LoupeTime {
 public:
  LoupeTime() {
    if (listener_ != nullptr && !listener_->enter_loupe()) listener_ = nullptr;
  }
  ~LoupeTime() {
    if (listener_ != nullptr) listener_->leave_loupe();
  }

 private:
  OwnTime own_{OwnTime::Of::hooks};
  WorkListener* listener_ = WorkListener::get();
};
LOUPE_SHARED void in_loupe_time(void (*call)(void* context), void* context);
/// Counts the call as Loupe's own work, for parts of the host.
template <class Call>
void in_loupe_time(Call&& call) {
  in_loupe_time([](void* context) { (*static_cast<std::remove_reference_t<Call>*>(context))(); }, &call);
}

}  // namespace loupe
