#ifndef LOUPE_DETAIL_THREADED_DECLARATION_H
#define LOUPE_DETAIL_THREADED_DECLARATION_H

// What a visualizer declares, said again by the ThreadedVisualizer over it, and left out where it leaves it out.

#include <loupe/detail/component.h>
#include <loupe/detail/visualizer_thread.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {
namespace detail {

class VisualizerOnThread : public Visualizer {
 protected:
  VisualizerOnThread(std::unique_ptr<Visualizer> visualizer, const Host& host) : thread_(std::move(visualizer), host) {}
  VisualizerThread& thread() { return thread_; }

 private:
  VisualizerThread thread_;
};

/// Is not told progress again before it has taken what it was told last.
class WithProgress : public VisualizerOnThread {
 public:
  void progress(const Progress& progress) override {
    if (!waiting_.expired()) return;
    const auto told = std::make_shared<const Progress>(progress);
    waiting_ = told;
    thread().add(VisualizerThread::Kind::passing, [told](Visualizer& inner) { inner.progress(*told); });
  }

 protected:
  using VisualizerOnThread::VisualizerOnThread;

 private:
  std::weak_ptr<const Progress> waiting_;  // in a message
};

template <class Inner>
using MaybeWithProgress = std::conditional_t<IgnoresProgress<Inner>::value, VisualizerOnThread, WithProgress>;

template <class Inner, class = void>
class MaybeWithExample : public MaybeWithProgress<Inner> {
 protected:
  using MaybeWithProgress<Inner>::MaybeWithProgress;
};
template <class Inner>
class MaybeWithExample<Inner, std::enable_if_t<HasExample<Inner>::value>> : public MaybeWithProgress<Inner> {
 public:
  static constexpr const char* example = Inner::example;

 protected:
  using MaybeWithProgress<Inner>::MaybeWithProgress;
};

template <class Inner>
class ThreadedDeclaration : public MaybeWithExample<Inner> {
 public:
  static constexpr const char* name = Inner::name;
  static constexpr const char* help = Inner::help;
  static std::vector<Option> options() { return Inner::options(); }
  template <class Declaring = Inner>
  static auto aliases() -> decltype(Declaring::aliases()) {
    return Declaring::aliases();
  }
  template <class Declaring = Inner>
  static auto gives() -> decltype(Declaring::gives()) {
    return Declaring::gives();
  }

 protected:
  using MaybeWithExample<Inner>::MaybeWithExample;
};

}  // namespace detail
}  // namespace loupe

#endif
