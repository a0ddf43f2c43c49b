#pragma once

#include <loupe/host.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ranks/prints.h"
#include "ranks/rank_record.h"

namespace loupe::ranks {

/// A parameter or buffer of a model in this process.
struct ModelTensor {
  const loupe_module* module;
  std::string name;  ///< the parameter's
  bool is_buffer;
};

/// What the optimizers of one model keep of its parameters.
class OptimizerStates {
 public:
  /// Called in Lens::step. At an optimizer's first step after a tick it retains the optimizer's states; at later steps
  /// it does nothing.
  void stepped(const Host& host, uint64_t optimizer, const std::deque<ModelTensor>& tensors, Prints& prints);
  /// At a tick: what it is by now, and lets go of it.
  void say(Replica& replica, Prints& prints);
  /// Once the prints are read: the same, and what it was after each optimizer's first step.
  void fill(Replica& replica, const Prints& prints);
  /// Lets go of it without a word.
  void release();

 private:
  struct Release {
    Host host;
    void operator()(loupe_retained* kept) const { host.tensors().release(host.context(), kept); }
  };
  struct Kept {
    std::size_t tensor;
    std::string state;
    std::unique_ptr<loupe_retained, Release> memory;
    uint64_t fingerprint(Prints& prints) const;
  };
  std::vector<uint64_t> known_, stepped_;  // optimizers: ever, and since the last tick
  std::vector<Kept> kept_;
  Replica::States start_;
};

}  // namespace loupe::ranks
