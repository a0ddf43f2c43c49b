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

#include "core/lock_order.h"

namespace loupe {

/// The one queue through which findings, notes and due ticks leave lenses. Lenses post to it on any thread, with
/// any locks held; it is emptied outside of lens calls:
/// - findings and notes by whoever holds the inspector's mutex, between the calls of lenses, to be shown;
/// - a due tick by whoever holds the inspector's mutex, once a step is over;
/// - findings that were shown by `deliver`, while no lock is held, for the trainer's callback.
/// Threads that train may come later than the inspector's end. Any thread, unless said otherwise.
class Outbox {
 public:
  struct Note {
    uint32_t kind;  ///< a LOUPE_NOTE_
    std::string text;
    loupe_moment at;       ///< without its epoch, which whoever posts may not know
    uint64_t finding = 0;  ///< the number of the one that it is about
  };
  using OwnedFinding = std::unique_ptr<const detail::Owned<loupe_finding>>;
  using Message = std::variant<Note, OwnedFinding>;

  void post(Note note);
  /// Throws Error what check_finding throws.
  void post(const loupe_finding& finding);
  /// All findings and notes, in the order in which they came.
  std::vector<Message> take_messages();
  bool has_messages() const { return has_messages_; }

  /// A tick is due, for a reason LOUPE_TICK_; the last one posted counts. Under the inspector's mutex, as the next two.
  void post_tick(uint32_t reason) { due_tick_ = reason; }
  bool has_tick() const { return due_tick_ != 0; }
  /// 0 where none is due.
  uint32_t take_tick() { return std::exchange(due_tick_, 0); }

  using Callback = std::function<void(const Finding&)>;
  /// Whom findings are delivered to; replaces the callback before.
  void set_callback(Callback callback);
  /// A finding that was shown, for the callback.
  void queue_for_delivery(const loupe_finding& finding);
  /// Calls the callback with each queued finding, unless this thread holds an inspector's mutex; it holds no other
  /// lock. While another delivery is on, on whatever thread, this does nothing: that one goes on with what is queued.
  void deliver() noexcept;
  /// Drops the callback, after waiting for the call of it that another thread is in.
  void end_delivery();

  /// Keeps an exception for rethrow, unless one is kept already.
  void keep(std::exception_ptr thrown);
  /// Throws what is kept, such as what the callback threw.
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
