#pragma once

#include <loupe/detail/owned.h>
#include <loupe/finding.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/locks.h"

namespace loupe {

/// The queue through which findings, notes and due ticks leave lenses. Lenses post to it on any thread, with any locks
/// held; it is emptied outside of lens calls:
/// - findings and notes by the thread that holds the inspector's mutex, between the calls of lenses, to be shown;
/// - a due tick by the thread that holds the inspector's mutex, once a step is over;
/// - findings that were shown by `deliver`, while no lock is held, for the trainer's callback.
/// Training threads may outlive the inspector. Any thread, unless noted otherwise.
class Outbox {
 public:
  struct Note {
    uint32_t kind;  ///< a LOUPE_NOTE_
    std::string text;
    loupe_moment at;       ///< without its epoch, which the poster may not know
    uint64_t finding = 0;  ///< the number of the finding that it concerns
  };
  using OwnedFinding = std::unique_ptr<const detail::Owned<loupe_finding>>;
  using Message = std::variant<Note, OwnedFinding>;

  void post(Note note);
  /// Throws like check_finding.
  void post(const loupe_finding& finding);
  /// All findings and notes, in order.
  std::vector<Message> take_messages();
  bool has_messages() const { return has_messages_; }

  /// A tick is due, for a reason LOUPE_TICK_; the last posted counts. Under the inspector's mutex, like the next two.
  void post_tick(uint32_t reason) { due_tick_ = reason; }
  bool has_tick() const { return due_tick_ != 0; }
  /// 0 if none is due.
  uint32_t take_tick() { return std::exchange(due_tick_, 0); }

  using Callback = std::function<void(const Finding&)>;
  /// Replaces the callback for findings.
  void set_callback(Callback callback);
  /// Queues a shown finding for the callback.
  void queue_for_delivery(const loupe_finding& finding);
  /// Calls the callback with each queued finding, unless this thread holds an inspector's mutex; it holds no other
  /// lock. During another delivery, on any thread, this does nothing: that one delivers the rest.
  void deliver() noexcept;
  /// Removes the callback, after waiting for a call of it on another thread.
  void end_delivery();

  /// Keeps the first exception for rethrow.
  void keep(std::exception_ptr thrown);
  /// Throws the kept exception, such as the callback's.
  void rethrow();

 private:
  bool take_for_delivery(Finding& finding, Callback& callback);

  LeafMutex mutex_;
  std::vector<Message> messages_;
  std::atomic<bool> has_messages_{false};
  uint32_t due_tick_ = 0;

  std::condition_variable_any delivery_over_;
  std::deque<Finding> to_deliver_;
  Callback callback_;
  std::thread::id delivering_;  // the thread that delivers; none by default
  std::exception_ptr thrown_;
};

}  // namespace loupe
