#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "timing/step_split.h"

namespace loupe {

/// What begins or ends in a step that is timed.
struct StepCall {
  enum class Kind {
    enter_forward,
    leave_forward,
    enter_node,
    leave_node,
    enter_optimizer,
    leave_optimizer,
    enter_loupe,
    leave_loupe
  };
  Kind kind;
  int layer = -1;          ///< its number from 0; -1 is none
  bool trains = false;     ///< of a forward
  int64_t number = -1;     ///< autograd's, of a node
  bool elsewhere = false;  ///< a node on another thread than the step's
  std::string name = {};   ///< of a node, where spans are kept
};

/// One step, told call by call with each call's time: its parts, its layers and, where wanted, what ran from when to
/// when. One thread, but for note_elsewhere.
class StepAccount {
 public:
  /// One that lies within another comes after it.
  struct Span {
    enum class Kind { forward, backward, optimizer, loupe };
    Kind kind;
    int layer;
    double begin, end;
    std::string name;
  };

  void begin(double now, bool keeps_spans);
  void tell(const StepCall& call, double now);
  /// Returns how long the step took.
  double end(double now);

  StepSplit& split() { return split_; }
  const StepSplit& split() const { return split_; }
  std::vector<Span>& spans() { return spans_; }

 private:
  void open_span(Span::Kind kind, const StepCall& call, double now);
  void close_span(double now);

  StepSplit split_;
  bool keeps_spans_ = false;
  std::vector<Span> spans_;
  std::vector<std::size_t> open_spans_;
};

}  // namespace loupe
