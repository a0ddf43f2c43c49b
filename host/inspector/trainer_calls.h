#pragma once

#include <exception>
#include <thread>

namespace loupe {

/// What is known of the trainer's calls of an inspector: which thread called last, and whether an exception ends the
/// training. Under the inspector's mutex.
class TrainerCalls {
 public:
  /// A member was called by which the training goes on.
  void note_calling_thread() {
    thread_ = std::this_thread::get_id();
    left_by_exception_ = false;
  }
  bool is_on_calling_thread() const { return thread_ == std::this_thread::get_id(); }
  /// An exception has left a loop over epochs or steps. Whoever catches it may go on to train.
  void note_exception() { left_by_exception_ = true; }
  /// Whether the inspector is ended by an exception, or after one that left a loop.
  bool ends_by_exception() const { return std::uncaught_exceptions() > exceptions_ || left_by_exception_; }

 private:
  std::thread::id thread_ = std::this_thread::get_id();
  const int exceptions_ = std::uncaught_exceptions();  // that were in flight when the inspector was made
  bool left_by_exception_ = false;
};

}  // namespace loupe
