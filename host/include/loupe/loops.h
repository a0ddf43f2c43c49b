#pragma once

#include <cstdint>

#include "loupe/version.h"

namespace loupe {

class Inspector;

namespace host_detail {

/// Lives as long as a loop over epochs or steps; informs the inspector when it is left, and whether by an exception.
class LOUPE_API LoopScope {
 public:
  LoopScope(Inspector* inspector, bool is_of_epochs);
  ~LoopScope();
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;

 private:
  Inspector* inspector_;
  bool is_of_epochs_;
  int exceptions_;
};

}  // namespace host_detail

/// The numbers that a loop counts. It ends early if a finding demands it; see Inspector::should_stop.
template <class Number, bool is_of_epochs>
class Loop {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    Iterator(Inspector* inspector, Number number, Number last) : inspector_(inspector), number_(number), last_(last) {}
    Number operator*() const { return number_; }
    LOUPE_API Iterator& operator++();
    bool operator!=(Sentinel) const { return number_ <= last_; }

   private:
    Inspector* inspector_;
    Number number_;
    Number last_;
  };

  Loop(Inspector* inspector, Number first, Number last)
      : scope_(inspector, is_of_epochs), inspector_(inspector), first_(first), last_(last) {}
  Iterator begin() const { return {inspector_, first_, last_}; }
  Sentinel end() const { return {}; }

 private:
  host_detail::LoopScope scope_;
  Inspector* inspector_;
  Number first_;
  Number last_;
};

/// The result of Inspector::epochs: `for (int epoch : inspector.epochs(20))` counts and ticks after each turn that did
/// not tick itself.
using Epochs = Loop<int, true>;
template <>
LOUPE_API Epochs::Iterator& Epochs::Iterator::operator++();

/// The result of Inspector::steps: `for (auto step : inspector.steps(10000))` counts the turns of a loop without
/// epochs, with automatic ticks according to `run.tick`.
using Steps = Loop<std::int64_t, false>;
template <>
LOUPE_API Steps::Iterator& Steps::Iterator::operator++();

}  // namespace loupe
