#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <functional>
#include <vector>

#include "loupe/version.h"

namespace loupe {

/// Folds observations that come one step apart, and keeps the last states. Not thread-safe.
class LOUPE_API Reducer {
 public:
  /// @param duration   how long states are kept, in the unit of `step_time`; 0 keeps only the latest
  /// @param step_time  the time from one observation to the next. Throws std::invalid_argument for a negative duration
  /// or a step that is not positive.
  explicit Reducer(double duration = 0, double step_time = 1);
  virtual ~Reducer();

  /// Takes one observation, by default of one tensor; override it for several. Throws std::invalid_argument.
  virtual void push(const std::vector<at::Tensor>& observation);
  /// Forgets all observations.
  virtual void clear();

  bool empty() const { return history_.empty(); }
  std::size_t size() const { return history_.size(); }
  /// The last state, or an undefined tensor. It is never changed later.
  at::Tensor latest() const;
  /// Returns a copy of the last state.
  at::Tensor peek() const;
  /// The state `time` before the last, by between(…) if it is between two. Throws std::out_of_range for a time before
  /// the kept states.
  at::Tensor view(double time) const;
  /// All kept states in one tensor, newest first along dimension 0; undefined if there are none. The states must have
  /// one shape.
  at::Tensor dump() const;
  double step_time() const { return step_time_; }

 protected:
  /// The state after an observation; `state` is undefined at the first. Must make a new tensor.
  virtual at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) = 0;
  /// The value `share` (0 to 1) of the way back from a state to the one before. The default is linear.
  virtual at::Tensor between(const at::Tensor& newer, const at::Tensor& older, double share) const;
  void keep(at::Tensor state);

 private:
  double step_time_;
  std::size_t capacity_;
  std::deque<at::Tensor> history_;  // newest first
};

namespace reducers {

/// Keeps each observation unchanged.
class LOUPE_API Passthrough : public Reducer {
 public:
  using Reducer::Reducer;

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;
};

/// The time since a criterion last held, element by element; infinite before it first does.
class LOUPE_API Event : public Reducer {
 public:
  using Criterion = std::function<at::Tensor(const at::Tensor& observation)>;  // returns a tensor of booleans
  explicit Event(Criterion criterion, double duration = 0, double step_time = 1);

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;
  at::Tensor between(const at::Tensor& newer, const at::Tensor& older, double share) const override;

 private:
  Criterion criterion_;
};

/// alpha times the observation plus 1 - alpha times the state; the first observation unchanged.
class LOUPE_API ExponentialAverage : public Reducer {
 public:
  explicit ExponentialAverage(double alpha, double duration = 0, double step_time = 1);

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;

 private:
  double alpha_;
};

/// The mean of all observations.
class LOUPE_API CumulativeAverage : public Reducer {
 public:
  using Reducer::Reducer;
  void clear() override;

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;

 private:
  int64_t count_ = 0;
};

class LOUPE_API Sum : public Reducer {
 public:
  using Reducer::Reducer;

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;
};

class LOUPE_API Minimum : public Reducer {
 public:
  using Reducer::Reducer;

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;
};

class LOUPE_API Maximum : public Reducer {
 public:
  using Reducer::Reducer;

 protected:
  at::Tensor fold(const at::Tensor& observation, const at::Tensor& state) override;
};

}  // namespace reducers
}  // namespace loupe
