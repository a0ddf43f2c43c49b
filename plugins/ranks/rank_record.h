#pragma once

#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loupe::ranks {

/// The data of each rank as bytes. Ranks with equal data share an entry, so that thousands of equal replicas take one
/// entry.
class Facts : public Preprocessor {
 public:
  /// @param most  the most entries to keep; further ranks are only known to differ from these
  explicit Facts(std::size_t most) : most_(most) {}

  Request request() const override { return {}; }
  void process(const Event&) override {}
  void reset() override { groups_.clear(); }

  void say(int rank, std::string bytes) { groups_[std::move(bytes)].push_back(rank); }
  /// The ranks, grouped by their data.
  const std::map<std::string, std::vector<int>>& groups() const { return groups_; }

  std::string save_state() const override {
    StateWriter state;
    state.number(version);
    state.number(groups_.size());
    for (const auto& [bytes, ranks] : groups_) {
      state.text(bytes);
      state.number(ranks.size());
      for (const int rank : ranks) state.number(static_cast<uint64_t>(rank));
    }
    return state.bytes();
  }
  void merge_state(std::string_view bytes) override {
    StateReader state(bytes);
    if (state.number() != version) throw Error("the state is from another version of Loupe", LOUPE_INVALID);
    std::vector<std::pair<std::string, std::vector<int>>> read;
    for (uint64_t left = state.count(); left > 0; --left) {
      read.emplace_back(state.text(), std::vector<int>());
      for (uint64_t ranks = state.count(); ranks > 0; --ranks)
        read.back().second.push_back(static_cast<int>(state.number()));
    }
    state.finish();
    for (auto& [said, ranks] : read) {
      const auto known = groups_.find(said);
      // Data beyond the limit become one empty entry, which differs from all others.
      std::vector<int>& group =
          known != groups_.end() ? known->second : groups_[groups_.size() < most_ ? std::move(said) : std::string()];
      group.insert(group.end(), ranks.begin(), ranks.end());
    }
  }

 private:
  static constexpr uint64_t version = 2;
  std::size_t most_;
  std::map<std::string, std::vector<int>> groups_;
};

/// Shows whether one rank's gradients are multiplied or clipped: computed from all gradients of a model at one step.
struct GradientShape {
  uint64_t signs = 0;                ///< a fingerprint of the signs of some elements; 0: too few elements, or unknown
  double norm = NAN, largest = NAN;  ///< the norm and the largest magnitude of the same elements
};

/// The numbers that are equal in all replicas of a model if the run is healthy.
struct Replica {
  std::vector<uint64_t> start;       ///< fingerprints of the parameters before the first training forward
  std::vector<uint64_t> parameters;  ///< the same at the tick; 0: a buffer, or unknown
  struct Gradients {
    uint64_t step = 0;
    std::vector<uint64_t> used;  ///< fingerprints of the gradients that the optimizer used; 0: there is none
    GradientShape shape = {};
  };
  std::vector<Gradients> gradients;  ///< one entry for each of some steps, which are the same in each rank
  /// Fingerprints of the optimizers' states of each parameter, by the state's name; 0: there is none, or unknown.
  using States = std::map<std::string, std::vector<uint64_t>>;
  States first_states;  ///< after each optimizer's first step
  States states;        ///< at the tick

  std::string bytes() const;
  static Replica read(std::string_view bytes);
};

/// The measurements of one step of a model in one rank.
struct MeasuredStep {
  uint64_t step = 0;  ///< the model's step, from 1
  uint64_t forwards = 0, rows = 0;
  double input_squares = 0, input_elements = 0;  ///< over some elements of the inputs
  double gradient_squares = 0;                   ///< before averaging; NaN: on a device
  double seconds = NAN, waited = NAN;            ///< since the previous step, and since the last gradient
  std::vector<uint64_t> batches;                 ///< fingerprints of the first inputs, in some steps
  std::vector<uint64_t> evaluated;  ///< numbers of modules that ran only in eval mode; indices of ModelWatch::modes
};

/// The data that each rank has separately.
struct RankRecord {
  // The settings of the rank.
  uint64_t model = 0;  ///< a fingerprint of the modules' names and parameters' shapes
  uint64_t config = 0;
  std::string loupe_version, framework_version;
  double learning_rate = NAN;
  // Numbers of all steps since the last tick, measured or not.
  uint64_t steps = 0, losses = 0;
  double loss = NAN;       ///< the mean of the training losses
  uint64_t all_steps = 0;  ///< the number of steps since the start
  // Numbers of only the measured steps.
  std::vector<MeasuredStep> measured;  ///< some of them
  double device_gradient = NAN;        ///< the same as `gradient`; known if every step was measured
  std::vector<std::pair<std::string, std::string>>
      masks;  ///< what dropout layers kept in the first step; see MaskWatch
  // The first NaN or Inf since the start.
  struct NonFinite {
    static constexpr uint64_t never = UINT64_MAX;
    uint64_t step = never;       ///< the step after which it was seen
    std::string module, what;    ///< "its output"
    uint64_t finite_before = 0;  ///< after the step before this one, everything was seen to be finite
    bool is_there() const { return step != never; }
  };
  NonFinite non_finite;  ///< the first NaN or Inf in outputs and gradients
  NonFinite bad_loss;

  // Numbers over the measured steps that the ranks have in common; see common_steps.h.
  uint64_t compared = 0, timed = 0;                 ///< the number of these steps, and of those with known times
  double batch_size = NAN;                          ///< the mean number of rows
  double gradient = NAN;                            ///< the root mean square of the norms of all gradients
  double input = NAN;                               ///< the root mean square of the model's input
  double step_seconds = NAN, waited_seconds = NAN;  ///< medians
  std::vector<uint64_t> batches;
  std::vector<std::string> evaluated;  ///< modules that ran only in eval mode; at most 16

  std::string bytes() const;
  static RankRecord read(std::string_view bytes);
};

}  // namespace loupe::ranks
