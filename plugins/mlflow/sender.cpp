#include "mlflow/sender.h"

#include <loupe/detail/own_thread.h>
#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/text/number_text.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace loupe::mlflow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{32} << 20;
constexpr std::size_t most_artifact = std::size_t{256} << 20;
constexpr auto first_pause = std::chrono::milliseconds(500), longest_pause = std::chrono::milliseconds(30000);

/// What never got to the server.
struct Lost {
  std::size_t metrics = 0, others = 0;
  double first_epoch = 0, last_epoch = 0;
  std::string why;

  void add(const Message& message) {
    if (message.what != "metrics") {
      others += message.what == "end" || message.what == "artifact" ? 1 : message.entities.size();
      return;
    }
    if (metrics == 0) first_epoch = last_epoch = message.epoch;
    metrics += message.entities.size();
    first_epoch = std::min(first_epoch, message.epoch);
    last_epoch = std::max(last_epoch, message.epoch);
  }
  bool any() const { return metrics + others > 0; }
  std::string text() const {
    std::string told;
    if (metrics > 0) {
      const std::string first = number_text(first_epoch), last = number_text(last_epoch);
      told = std::to_string(metrics) + " metrics of " +
             (first == last ? "epoch " + first : "epochs " + first + " to " + last);
    }
    if (others > 0)
      told +=
          (told.empty() ? "" : " and ") + std::to_string(others) + " parameters, tags, artifacts or ends of the run";
    return told;
  }
};

}  // namespace

/// What both threads see; the thread's own but for what the mutex guards.
struct Sender::State {
  State(const Access& access, RunFacts facts, const Host& its_host)
      : uri(access.uri), server(access, std::move(facts)), host(its_host) {}

  const std::string uri;
  Server server;
  const Host host;
  std::mutex mutex;  // guards the members below
  std::condition_variable wake, news;
  std::deque<Message> queue;
  std::size_t bytes = 0;
  bool is_busy = false, is_ending = false, is_over = false;
  Clock::time_point progress = Clock::now();
  Lost lost;
  std::thread thread;

  Took attempt(Message& message) {
    const Took begun = server.begin();
    if (begun != Took::yes) return begun;
    if (message.what == "end") return server.update(message.name, message.time);
    if (message.what == "artifact") {
      if (message.file.empty()) return server.put(message.name, message.text, "text/plain");
      return server.put(message.name, read_file(message.file, most_artifact), "text/html");
    }
    const Took took = server.log({{message.what, message.entities}});
    if (took != Took::never || message.what != "params") return took;
    // A parameter never changes; what a resumed run was set to anew is then a tag.
    message.what = "tags";
    return server.log({{"tags", message.entities}});
  }
};

Sender::Sender(const Access& access, RunFacts facts, const Host& host)
    : state_(std::make_unique<State>(access, std::move(facts), host)), process_(::getpid()) {
  // The trainer's signals are for the trainer's threads, but for those that a fault on this one raises.
  sigset_t held, before;
  sigfillset(&held);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) sigdelset(&held, fault);
  pthread_sigmask(SIG_SETMASK, &held, &before);
  try {
    state_->thread = std::thread([state = state_.get()] { work(*state); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ThreadsAtExit::get().add(*this);
}

Sender::~Sender() {
  ThreadsAtExit::get().remove(*this);
  end(std::chrono::seconds(10));
  // A thread of the parent's, or one that hangs, still has it.
  if (state_->thread.joinable()) static_cast<void>(state_.release());
}

bool Sender::is_forked() const {
  return process_ != ::getpid();
}

void Sender::send(Message message) {
  if (is_forked()) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->is_over) return;
  state_->bytes += message.bytes;
  state_->queue.push_back(std::move(message));
  for (auto each = state_->queue.begin(); each != state_->queue.end() && state_->bytes > most_bytes;) {
    if (each->what != "metrics") {
      ++each;
      continue;
    }
    state_->bytes -= each->bytes;
    state_->lost.add(*each);
    each = state_->queue.erase(each);
  }
  state_->wake.notify_all();
}

void Sender::end(std::chrono::milliseconds patience) {
  if (is_forked() || !state_->thread.joinable() || state_->thread.get_id() == std::this_thread::get_id()) return;
  std::unique_lock lock(state_->mutex);
  if (state_->is_over) return;  // the thread was left behind
  state_->progress = Clock::now();
  const auto is_idle = [&] { return state_->queue.empty() && !state_->is_busy; };
  state_->is_ending = true;
  state_->wake.notify_all();
  while (!is_idle() && Clock::now() < state_->progress + patience)
    state_->news.wait_until(lock, state_->progress + patience);
  state_->is_over = true;
  state_->wake.notify_all();
  lock.unlock();
  state_->server.stop();
  lock.lock();
  // Looking up a name cannot be broken off: such a thread is left behind.
  constexpr auto longest_wait = std::chrono::seconds(6);
  const bool has_ended = state_->news.wait_for(lock, longest_wait, [&] { return !state_->is_busy; });
  for (const Message& each : state_->queue) state_->lost.add(each);
  state_->queue.clear();
  const Lost lost = state_->lost;
  state_->lost = {};
  lock.unlock();
  if (has_ended) state_->thread.join();
  if (lost.any())
    state_->host.warn("the MLflow server '" + state_->uri + "' lacks " + lost.text() + ": " +
                      (lost.why.empty() ? "it did not take them in time" : lost.why) +
                      "; `loupe replay RECORD --visualizer mlflow` sends the whole run anew");
}

void Sender::work(State& state) {
  detail::name_own_thread("mlflow");
  // The host takes a thread that asks it for something outside of its calls for this component's own.
  state.host.get_extension(LOUPE_RUN_ID);
  auto pause = first_pause;
  bool is_told = false;
  std::unique_lock lock(state.mutex);
  while (!state.is_over) {
    if (state.queue.empty()) {
      state.wake.wait(lock);
      continue;
    }
    Message message = std::move(state.queue.front());
    state.queue.pop_front();
    state.is_busy = true;
    lock.unlock();
    Took took = Took::never;
    std::string why;
    try {
      took = state.attempt(message);
      why = state.server.trouble();
    } catch (const std::exception& reason) {
      why = reason.what();
    }
    if (took != Took::yes && !std::exchange(is_told, true))
      state.host.warn("the MLflow server '" + state.uri + "' did not take what was sent to it: " + why +
                      (took == Took::later ? "; it is sent again, and training goes on" : ""));
    lock.lock();
    state.is_busy = false;
    if (took != Took::yes) state.lost.why = why;
    if (took == Took::later) {
      state.queue.push_front(std::move(message));
      state.news.notify_all();
      // Once the run is over nothing is gained by sparing the server.
      const auto until = Clock::now() + (state.is_ending ? first_pause : pause);
      state.wake.wait_until(lock, until, [&] { return state.is_over || (state.is_ending && pause > first_pause); });
      pause = state.is_ending ? first_pause : std::min(2 * pause, longest_pause);
      continue;
    }
    state.bytes -= message.bytes;
    pause = first_pause;
    state.progress = Clock::now();
    if (took == Took::never) state.lost.add(message);
    state.news.notify_all();
  }
  state.is_busy = false;
  state.news.notify_all();
}

}  // namespace loupe::mlflow
