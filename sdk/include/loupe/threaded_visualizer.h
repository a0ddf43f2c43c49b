#ifndef LOUPE_THREADED_VISUALIZER_H
#define LOUPE_THREADED_VISUALIZER_H

#include <loupe/detail/component.h>
#include <loupe/detail/owned.h>
#include <loupe/detail/threaded_declaration.h>
#include <loupe/detail/visualizer_thread.h>

#include <memory>
#include <type_traits>

namespace loupe {

/// An ordinary visualizer that works on a thread of its own, so that training does not wait for it:
///
///     LOUPE_PLUGIN("html", "1.0", loupe::ThreadedVisualizer<Html>);
///
/// It declares the same and is told the same in the same order, but for modules, which are left out, and for progress,
/// of which it gets what it keeps up with. begin(), flush() and end() return when everything told so far is done, and
/// throw what it throws; what a tick throws reaches the host when the next one ends, or at the next of those. When
/// several ticks wait, the trainer waits too, so that memory stays bounded. Nothing is lost when the process ends by
/// exit(); a process that is killed loses what it had not flushed.
template <class Inner>
class ThreadedVisualizer : public detail::ThreadedDeclaration<Inner> {
  static_assert(std::is_base_of_v<Visualizer, Inner>, "the class that works on a thread derives from Visualizer");
  using Kind = detail::VisualizerThread::Kind;

 public:
  ThreadedVisualizer(const Options& options, const Host& host)
      : detail::ThreadedDeclaration<Inner>(make(options, host), host) {}

  void begin(const Run& run) override {
    thread().do_now([&](Visualizer& inner) { inner.begin(run); });
  }
  void model(const Model& model) override { tell(Kind::standing, model, &Visualizer::model); }
  void tag(const Tag& tag) override { tell(Kind::standing, tag, &Visualizer::tag); }
  void hyperparameter(const Hyperparameter& value) override {
    tell(Kind::standing, value, &Visualizer::hyperparameter);
  }
  void finding(const loupe_finding& finding) override { tell(Kind::standing, finding, &Visualizer::finding); }
  void note(const Note& note) override { tell(Kind::passing, note, &Visualizer::note); }
  void begin_tick(const Tick& tick) override { tell(Kind::begin_tick, tick, &Visualizer::begin_tick); }
  void value(const Value& value) override {
    thread().template add_shown<&Visualizer::value>(value, &Value::tag, &Value::layer, &Value::line);
  }
  void range(const Range& range) override {
    thread().template add_shown<&Visualizer::range>(range, &Range::tag, &Range::layer, &Range::low_name,
                                                    &Range::high_name);
  }
  void histogram(const Histogram& histogram) override { tell(Kind::passing, histogram, &Visualizer::histogram); }
  void end_tick() override {
    thread().add(Kind::end_tick, [](Visualizer& inner) { inner.end_tick(); });
    // Only now: a host leaves out the rest of a tick in which something failed.
    thread().throw_failure();
  }
  void flush() override {
    thread().do_now([](Visualizer& inner) { inner.flush(); });
  }
  void end(const Ending& ending) override {
    thread().do_now([&](Visualizer& inner) { inner.end(ending); });
  }

 private:
  using detail::ThreadedDeclaration<Inner>::thread;

  static std::unique_ptr<Visualizer> make(const Options& options, const Host& host) {
    if constexpr (std::is_constructible_v<Inner, const Options&, const Host&>) {
      return std::make_unique<Inner>(options, host);
    } else {
      return std::make_unique<Inner>(options);
    }
  }
  template <class Told>
  void tell(Kind kind, const Told& told, void (Visualizer::*function)(const Told&)) {
    thread().add(kind, [copy = std::make_shared<detail::Owned<Told>>(told), function](Visualizer& inner) {
      (inner.*function)(copy->get());
    });
  }
};

}  // namespace loupe

#endif
