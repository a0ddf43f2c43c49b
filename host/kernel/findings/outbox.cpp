#include "findings/outbox.h"

#include "findings/finding_board.h"

namespace loupe {

void Outbox::post(Note note) {
  const std::lock_guard lock(mutex_);
  messages_.emplace_back(std::move(note));
  has_messages_ = true;
}

void Outbox::post(const loupe_finding& finding) {
  check_finding(finding);
  auto owned = std::make_unique<const detail::Owned<loupe_finding>>(finding);
  const std::lock_guard lock(mutex_);
  messages_.emplace_back(std::move(owned));
  has_messages_ = true;
}

std::vector<Outbox::Message> Outbox::take_messages() {
  const std::lock_guard lock(mutex_);
  has_messages_ = false;
  return std::exchange(messages_, {});
}

void Outbox::set_callback(Callback callback) {
  const std::lock_guard lock(mutex_);
  callback_.swap(callback);  // the old one may be running; it is destroyed after the lock is released
}

void Outbox::queue_for_delivery(const loupe_finding& finding) {
  const std::lock_guard lock(mutex_);
  if (callback_) to_deliver_.push_back(Finding::from(finding));
}

/// Ends the delivery and returns false if nothing is queued.
bool Outbox::take_for_delivery(Finding& finding, Callback& callback) {
  const std::lock_guard lock(mutex_);
  if (to_deliver_.empty() || !callback_) {
    to_deliver_.clear();
    delivering_ = {};
    delivery_over_.notify_all();
    return false;
  }
  finding = std::move(to_deliver_.front());
  to_deliver_.pop_front();
  callback = callback_;
  return true;
}

void Outbox::deliver() noexcept {
  // A lens or visualizer may call the inspector, or train a model: the thread that holds the mutex delivers afterwards.
  if (InspectorMutex::is_held_here()) return;
  {
    const std::lock_guard lock(mutex_);
    if (to_deliver_.empty() || delivering_ != std::thread::id()) return;
    delivering_ = std::this_thread::get_id();
  }
  Finding finding;
  Callback callback;
  while (take_for_delivery(finding, callback)) {
    try {
      callback(finding);
    } catch (...) {
      keep(std::current_exception());
    }
  }
}

void Outbox::end_delivery() {
  set_callback({});
  std::unique_lock lock(mutex_);
  delivery_over_.wait(lock,
                      [this] { return delivering_ == std::thread::id() || delivering_ == std::this_thread::get_id(); });
}

void Outbox::keep(std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (!thrown_) thrown_ = std::move(thrown);
}

void Outbox::rethrow() {
  std::exception_ptr thrown;
  {
    const std::lock_guard lock(mutex_);
    thrown = std::exchange(thrown_, nullptr);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace loupe
