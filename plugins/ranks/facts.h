#pragma once

#include <loupe/plugin.h>

#include <algorithm>
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

}  // namespace loupe::ranks
