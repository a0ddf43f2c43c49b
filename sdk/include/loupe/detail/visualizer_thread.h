#ifndef LOUPE_DETAIL_VISUALIZER_THREAD_H
#define LOUPE_DETAIL_VISUALIZER_THREAD_H

// The thread behind loupe::ThreadedVisualizer, which stands to the visualizer as the host does.

#include <loupe/detail/own_thread.h>
#include <loupe/detail/threads_at_exit.h>
#include <loupe/detail/told_batch.h>
#include <loupe/host.h>
#include <loupe/visualizer.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace loupe {
namespace detail {

/// Tells one visualizer, on a thread of its own, what is added here on the trainer's. Calls on this never overlap.
class VisualizerThread : public ThreadsAtExit::Thread {
 public:
  using Kind = MessageKind;
  using Call = Batch::Call;

  VisualizerThread(std::unique_ptr<Visualizer> visualizer, const Host& host)
      : state_(std::make_unique<State>(std::move(visualizer), host)) {}
  ~VisualizerThread() override {
    ThreadsAtExit::get().remove(*this);
    if (is_forked())
      static_cast<void>(state_.release());  // its thread is the parent's, which no destructor may wait for
    else
      join();
  }

  /// Gathered, and sent as a whole when the tick ends. Waits while several ticks, or very much between two, are not
  /// told yet.
  void add(Kind kind, Call call) {
    if (kind == Kind::begin_tick) wait_until([](const State& state) { return state.ticks < max_ticks; });
    is_in_tick_ = kind == Kind::begin_tick || (is_in_tick_ && kind != Kind::end_tick);
    gathered_.add(kind, std::move(call));
    gathered_.ends_tick = kind == Kind::end_tick;
    if (is_in_tick_) return;
    wait_until([](const State& state) { return state.queue.size() < max_batches; });
    send();
  }
  /// Gathered too: a value or range of the tick, with these of its texts.
  template <auto function, class Shown, class... Texts>
  void add_shown(const Shown& shown, Texts Shown::*... texts) {
    gathered_.add_shown<function>(shown, texts...);
  }
  /// Throws what failed and was not told yet; and again while no tick has succeeded since.
  void throw_failure() {
    if (is_forked()) return;
    std::unique_lock lock(state_->mutex);
    if (state_->is_told && state_->works_again) state_->failure = nullptr;
    if (state_->failure == nullptr) return;
    state_->is_told = true;
    const std::exception_ptr failure = state_->failure;
    lock.unlock();
    std::rethrow_exception(failure);
  }
  /// Returns when it is done, and with it everything before. Throws what failed and was not told yet, or else its own
  /// failure.
  void do_now(Call call) {
    gathered_.add(Kind::always, std::move(call));
    send();
    if (is_forked()) return;
    std::unique_lock lock(state_->mutex);
    state_->idle.wait(lock, [&] { return state_->is_idle(); });
    const bool is_news = state_->failure != nullptr && !state_->is_told;
    const std::exception_ptr failure = is_news ? state_->failure : state_->last_failure;
    state_->is_told = true;
    lock.unlock();
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  void end_with_process(std::chrono::seconds patience) override {
    if (is_forked() || state_->thread.get_id() == std::this_thread::get_id()) return;
    {
      std::unique_lock lock(state_->mutex);
      // One that hangs must not keep the process: it is left behind.
      if (!state_->idle.wait_for(lock, patience, [&] { return state_->is_idle(); })) return;
    }
    join();
  }

 private:
  static constexpr std::size_t max_ticks = 4, max_batches = 4096;

  /// What both threads see.
  struct State {
    State(std::unique_ptr<Visualizer> told, const Host& its_host) : visualizer(std::move(told)), host(its_host) {}
    bool is_idle() const { return queue.empty() && !is_busy; }

    const std::unique_ptr<Visualizer> visualizer;
    const Host host;
    std::mutex mutex;
    std::condition_variable wake, idle;  // there is something to do; something is done
    std::deque<Batch> queue;
    Batch spare;            // of a tick that was told, for its memory
    std::size_t ticks = 0;  // of which are not told yet
    bool is_busy = false, is_ending = false;
    std::exception_ptr failure, last_failure;  // one to tell; that of the last message
    bool is_told = false, works_again = false;
    std::thread thread;
    // The thread's own.
    std::deque<Message> again;
    bool skip = false, has_failed = false;  // the last message did
  };

  bool is_forked() const { return state_->thread.joinable() && process_ != ::getpid(); }

  template <class Condition>
  void wait_until(Condition&& condition) {
    if (is_forked()) return;
    std::unique_lock lock(state_->mutex);
    state_->idle.wait(lock, [&] { return condition(*state_); });
  }
  void send() {
    Batch batch = std::exchange(gathered_, Batch());
    if (is_forked()) return;
    {
      const std::lock_guard lock(state_->mutex);
      if (batch.ends_tick) std::swap(gathered_, state_->spare);
      state_->ticks += batch.ends_tick;
      state_->queue.push_back(std::move(batch));
    }
    if (!state_->thread.joinable()) start();
    state_->wake.notify_all();
  }
  /// The trainer's signals are for the trainer's threads, but for those that a fault on this one raises.
  void start() {
    sigset_t held, before;
    sigfillset(&held);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
      sigdelset(&held, fault);
    pthread_sigmask(SIG_SETMASK, &held, &before);
    try {
      state_->thread = std::thread([state = state_.get()] { work(*state); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    process_ = ::getpid();
    ThreadsAtExit::get().add(*this);
  }
  void join() {
    if (!state_->thread.joinable()) return;
    {
      const std::lock_guard lock(state_->mutex);
      state_->is_ending = true;
    }
    state_->wake.notify_all();
    state_->thread.join();
    state_->is_ending = false;
  }

  static void work(State& state) {
    name_own_thread("show");
    // The host takes a thread that asks it for something outside of its calls for this component's own: a crash is
    // then told with its name.
    state.host.get_extension(LOUPE_RUN_ID);
    std::unique_lock lock(state.mutex);
    for (;;) {
      state.wake.wait(lock, [&] { return state.is_ending || !state.queue.empty(); });
      if (state.queue.empty()) return;
      Batch batch = std::move(state.queue.front());
      state.queue.pop_front();
      state.is_busy = true;
      lock.unlock();
      for (Message& message : batch.messages) tell(state, message);
      const bool ends_tick = batch.ends_tick;
      batch.clear();
      lock.lock();
      if (ends_tick) state.spare = std::move(batch);
      state.is_busy = false;
      state.ticks -= ends_tick;
      state.idle.notify_all();
    }
  }
  static void tell(State& state, Message& message) {
    switch (message.kind) {
      case Kind::begin_tick:
        state.skip = false;
        for (; !state.again.empty() && attempt(state, state.again.front());) state.again.pop_front();
        break;
      case Kind::standing:
        if (state.skip || !attempt(state, message)) state.again.push_back(std::move(message));
        return;
      case Kind::always:
        attempt(state, message);
        return;
      default:
        break;
    }
    if (!state.skip && attempt(state, message) && message.kind == Kind::end_tick) {
      const std::lock_guard lock(state.mutex);
      state.works_again = true;
    }
  }
  /// Whether it succeeded. After a failure the rest of the tick is skipped.
  static bool attempt(State& state, const Message& message) {
    std::exception_ptr failure;
    try {
      message.tell(*state.visualizer, message.what);
    } catch (...) {
      failure = std::current_exception();
    }
    // A tick has many thousands of messages: no lock for those that bring no news.
    if (failure == nullptr && !state.has_failed) return true;
    state.has_failed = failure != nullptr;
    const std::lock_guard lock(state.mutex);
    state.last_failure = failure;
    if (failure == nullptr) return true;
    state.skip = true;
    if (state.failure == nullptr) state.is_told = false;
    if (state.failure == nullptr || state.is_told) state.failure = failure;
    state.works_again = false;
    return false;
  }

  std::unique_ptr<State> state_;
  Batch gathered_;
  bool is_in_tick_ = false;
  pid_t process_ = 0;
};

}  // namespace detail
}  // namespace loupe

#endif
