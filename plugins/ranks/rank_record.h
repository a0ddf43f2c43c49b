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

/// What each rank says of itself, as bytes. Ranks that say the same share them, so that thousands of replicas that
/// agree are one entry.
class Facts : public Preprocessor {
 public:
  /// @param most  the number of different entries kept; of further ranks only the difference from these is known
  explicit Facts(std::size_t most) : most_(most) {}

  Request request() const override { return {}; }
  void process(const Event&) override {}
  void reset() override { groups_.clear(); }

  void say(int rank, std::string bytes) { groups_[std::move(bytes)].push_back(rank); }
  /// The ranks by what they say.
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
      // What is left out differs from all that is kept, and stays known as that.
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

/// What tells gradients that one rank multiplies or clips from others: all of a model's at one step.
struct GradientShape {
  uint64_t signs = 0;                ///< a fingerprint of the signs of some elements; 0: too few, or cannot be told
  double norm = NAN, largest = NAN;  ///< of the same elements
};

/// The numbers that replicas of a model have in common in a healthy run.
struct Replica {
  std::vector<uint64_t> start;       ///< of each parameter, before its first training forward
  std::vector<uint64_t> parameters;  ///< the same at the tick; 0: a buffer, or cannot be told
  struct Gradients {
    uint64_t step = 0;
    std::vector<uint64_t> used;  ///< of each parameter's, as the optimizer used it; 0: there is none
    GradientShape shape = {};
  };
  std::vector<Gradients> gradients;  ///< of some steps, the same in each rank
  /// Prints of the optimizers' states of each parameter, by the state's name; 0: none, or unknown.
  using States = std::map<std::string, std::vector<uint64_t>>;
  States first_states;  ///< after each optimizer's first step
  States states;        ///< at the tick

  std::string bytes() const;
  static Replica read(std::string_view bytes);
};

/// What one step of a model showed in one rank.
struct MeasuredStep {
  uint64_t step = 0;  ///< of the model's, from 1
  uint64_t forwards = 0, rows = 0;
  double input_squares = 0, input_elements = 0;  ///< of some elements of the inputs
  double gradient_squares = 0;                   ///< before they are averaged; NaN: on a device
  double seconds = NAN, waited = NAN;            ///< since the step before, and since the last gradient
  std::vector<uint64_t> batches;                 ///< fingerprints of the first inputs, in some of the steps
  std::vector<uint64_t> evaluated;               ///< modules that ran in eval mode alone, as ModelWatch numbers them
};

/// What each rank has for itself.
struct RankRecord {
  // What it ran with.
  uint64_t model = 0;  ///< a fingerprint of the modules' names and parameters' shapes
  uint64_t config = 0;
  std::string loupe_version, framework_version;
  double learning_rate = NAN;
  // Numbers of every step since the last tick, measured or not.
  uint64_t steps = 0, losses = 0;
  double loss = NAN;       ///< the mean of the training losses
  uint64_t all_steps = 0;  ///< since the start
  // Numbers of measured steps.
  std::vector<MeasuredStep> measured;  ///< some of them
  double device_gradient = NAN;        ///< as `gradient`, where every step was measured
  std::vector<std::pair<std::string, std::string>>
      masks;  ///< of the first step: what dropout layers kept, see MaskWatch
  // Since the start.
  struct NonFinite {
    static constexpr uint64_t never = UINT64_MAX;
    uint64_t step = never;       ///< after which the first one was seen
    std::string module, what;    ///< "its output"
    uint64_t finite_before = 0;  ///< all was seen to be finite after the step before this one
    bool is_there() const { return step != never; }
  };
  NonFinite non_finite;  ///< in outputs and gradients
  NonFinite bad_loss;

  // The measured steps that the ranks have in common; see common_steps.h.
  uint64_t compared = 0, timed = 0;                 ///< how many these are, and those of known times
  double batch_size = NAN;                          ///< the mean number of rows
  double gradient = NAN;                            ///< the root mean square of the norms of all gradients
  double input = NAN;                               ///< the root mean square of the model's input
  double step_seconds = NAN, waited_seconds = NAN;  ///< medians
  std::vector<uint64_t> batches;
  std::vector<std::string> evaluated;  ///< modules that ran in eval mode alone; the first few

  std::string bytes() const;
  static RankRecord read(std::string_view bytes);
};

}  // namespace loupe::ranks
