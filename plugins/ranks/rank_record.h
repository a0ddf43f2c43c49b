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
  /// @param most  so many different entries are kept; of more ranks it is only known that they differ from those
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
    if (state.number() != version) throw Error("the state is of another version of Loupe", LOUPE_INVALID);
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
  static constexpr uint64_t version = 1;
  std::size_t most_;
  std::map<std::string, std::vector<int>> groups_;
};

/// What tells gradients that one rank multiplies or clips from others: all of a model's at one step.
struct GradientShape {
  uint64_t signs = 0;                ///< a fingerprint of the signs of some elements; 0: too few, or cannot be told
  double norm = NAN, largest = NAN;  ///< of the same elements
};

/// What replicas of a model have in common while all is well.
struct Replica {
  std::vector<uint64_t> start;       ///< of each parameter, before its first training forward
  std::vector<uint64_t> parameters;  ///< the same at the tick; 0: a buffer, or cannot be told
  struct Gradients {
    uint64_t step = 0;
    std::vector<uint64_t> used;  ///< of each parameter's, as the optimizer used it; 0: there is none
    GradientShape shape = {};
  };
  std::vector<Gradients> gradients;  ///< of the steps that were looked at
  /// Of what optimizers keep of each parameter, by the state's name; 0: nothing, or cannot be told.
  using States = std::map<std::string, std::vector<uint64_t>>;
  States first_states;  ///< after each optimizer's first step
  States states;        ///< at the tick

  std::string bytes() const;
  static Replica read(std::string_view bytes);
};

/// What each rank has for itself.
struct RankRecord {
  // What it ran with.
  uint64_t model = 0;  ///< a fingerprint of the modules' names and parameters' shapes
  uint64_t config = 0;
  std::string loupe_version, libtorch_version;
  double learning_rate = NAN;
  // Since the last tick.
  uint64_t steps = 0, forwards = 0;
  uint64_t all_steps = 0;   ///< since the start
  double batch_size = NAN;  ///< the mean number of rows
  double loss = NAN;        ///< the mean of the training losses
  double gradient = NAN;    ///< the root mean square of the norms of all gradients, before they are averaged
  double input = NAN;       ///< the root mean square of the model's input
  double step_seconds = NAN, waited_seconds = NAN;         ///< medians over steps
  std::vector<uint64_t> batches;                           ///< fingerprints of the first inputs
  std::vector<std::pair<std::string, std::string>> masks;  ///< of dropout layers: what was kept, see masks.h
  std::vector<std::string> evaluated;  ///< modules that ran in eval mode while the others trained; the first few
  // Since the start.
  struct NonFinite {
    uint64_t step = 0;
    std::string module, what;  ///< "its output"
  };
  bool has_non_finite = false;
  NonFinite non_finite;  ///< the first

  std::string bytes() const;
  static RankRecord read(std::string_view bytes);
};

}  // namespace loupe::ranks
