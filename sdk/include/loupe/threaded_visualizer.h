#ifndef LOUPE_THREADED_VISUALIZER_H
#define LOUPE_THREADED_VISUALIZER_H

#include <loupe/detail/owned.h>
#include <loupe/host.h>
#include <loupe/visualizer.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {

/// An ordinary visualizer that works on a thread of its own, so that training does not wait for it:
///
///     LOUPE_PLUGIN("html", "1.0", loupe::ThreadedVisualizer<Html>);
///
/// It is told the same in the same order, but for modules, which are left out, and for progress. What it throws reaches
/// the host with the next call. When several ticks wait, the trainer waits too, so that memory stays bounded; flush()
/// and end() wait for everything.
template <class Inner>
class ThreadedVisualizer : public Visualizer {
  static_assert(std::is_base_of_v<Visualizer, Inner>, "the class that works on a thread derives from Visualizer");

 public:
  static constexpr const char* name = Inner::name;
  static constexpr const char* help = Inner::help;
  static std::vector<Option> options() { return Inner::options(); }
  ThreadedVisualizer(const Options& options, const Host& host) : inner_(make(options, host)) {}
  ~ThreadedVisualizer() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void begin(const Run& run) override { tell(run, &Visualizer::begin); }
  void model(const Model& model) override { tell(model, &Visualizer::model); }
  void tag(const Tag& tag) override { tell(tag, &Visualizer::tag); }
  void begin_tick(const Tick& tick) override {
    throw_failure();
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return ticks_waiting_ < max_ticks_waiting; });
    lock.unlock();
    tell(tick, &Visualizer::begin_tick);
  }
  void value(const Value& value) override { tell(value, &Visualizer::value); }
  void range(const Range& range) override { tell(range, &Visualizer::range); }
  void histogram(const Histogram& histogram) override { tell(histogram, &Visualizer::histogram); }
  void end_tick() override {
    add([this](Visualizer& inner) {
      {
        const std::lock_guard lock(mutex_);
        --ticks_waiting_;
      }
      inner.end_tick();
    });
    {
      const std::lock_guard lock(mutex_);
      ++ticks_waiting_;
    }
    send();
  }
  void flush() override {
    add([](Visualizer& inner) { inner.flush(); });
    wait();
  }
  void finding(const loupe_finding& finding) override { tell(finding, &Visualizer::finding), send(); }
  void note(const Note& note) override { tell(note, &Visualizer::note); }
  void hyperparameter(const Hyperparameter& value) override { tell(value, &Visualizer::hyperparameter); }
  void end(const Ending& ending) override {
    tell(ending, &Visualizer::end);
    wait();
  }

 private:
  static constexpr int max_ticks_waiting = 4;
  using Message = std::function<void(Visualizer&)>;

  static std::unique_ptr<Inner> make(const Options& options, const Host& host) {
    if constexpr (std::is_constructible_v<Inner, const Options&, const Host&>) {
      return std::make_unique<Inner>(options, host);
    } else {
      return std::make_unique<Inner>(options);
    }
  }

  template <class Told>
  void tell(const Told& told, void (Visualizer::*function)(const Told&)) {
    add([copy = std::make_shared<detail::Owned<Told>>(told), function](Visualizer& inner) {
      (inner.*function)(copy->get());
    });
  }
  // Gathered here without a lock, and sent a tick at a time.
  void add(Message message) { gathered_.push_back(std::move(message)); }
  void send() {
    {
      const std::lock_guard lock(mutex_);
      for (Message& message : gathered_) queue_.push_back(std::move(message));
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    }
    gathered_.clear();
    wake_.notify_all();
  }
  void wait() {
    send();
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return queue_.empty() && !busy_; });
    lock.unlock();
    throw_failure();
  }
  void throw_failure() {
    std::exception_ptr failure;
    {
      const std::lock_guard lock(mutex_);
      std::swap(failure, failure_);
    }
    if (failure) std::rethrow_exception(failure);
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Message message = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      std::exception_ptr failure;
      try {
        message(*inner_);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      busy_ = false;
      if (failure && !failure_) failure_ = failure;
      idle_.notify_all();
    }
  }

  std::unique_ptr<Visualizer> inner_;
  std::vector<Message> gathered_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<Message> queue_;
  std::exception_ptr failure_;
  int ticks_waiting_ = 0;
  bool busy_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace loupe

#endif
