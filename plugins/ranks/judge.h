#pragma once

#include <loupe/finding.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ranks/rank_record.h"

namespace loupe::ranks {

/// What the ranks said of one model at a tick.
struct Said {
  struct Group {
    Replica replica;
    std::vector<int> ranks;
  };
  std::vector<Group> replicas;  ///< those that say the same together
  std::vector<Group> buffers;   ///< of these `parameters` alone, and of those the buffers
  std::vector<Group> states;    ///< of these the optimizers' states alone
  std::map<int, RankRecord> records;
  int world_size = 0;
};

/// A parameter or buffer, as Replica counts them.
struct NamedTensor {
  std::string layer, name;
  bool is_buffer = false;
};

/// Compares the ranks of one model, tick by tick.
class Judge {
 public:
  using Tell = std::function<void(const Finding&)>;
  /// Tells what is new, has changed or is gone.
  void judge(const Said& said, const std::vector<NamedTensor>& tensors, const Tell& tell);

 private:
  void judge_settings(const Said& said);
  void judge_replicas(const Said& said, const std::vector<NamedTensor>& tensors);
  void judge_modes(const Said& said);
  void judge_batches(const Said& said);
  void judge_masks(const Said& said);
  void judge_non_finite(const Said& said);
  /// Whether it is known where the first of this kind came up.
  bool judge_origin(const Said& said, RankRecord::NonFinite RankRecord::*kind);
  void judge_times(const Said& said);
  void judge_balance(const Said& said);
  /// What the ranks have a number each of.
  struct Number {
    const char* name;
    double most;  ///< times the nearest other rank's
    double RankRecord::*value;
    const char* advice;
    const char* cause = nullptr;  ///< another number, from which this one follows
    bool of_two = false;          ///< two ranks alone are alike in it, too
  };
  void judge_balance_of(const Said& said, const Number& number);

  /// How many ticks in a row `key` was so, with this one; 0 where it is not.
  int in_a_row(const std::string& key, bool is_so);
  /// @param essence  what makes it another finding where it changes; figures that come with each tick do not
  void raise(Finding finding, std::string essence);
  /// A rule could not be judged: its findings that stand go on to stand.
  void keep(const std::function<bool(const Finding&)>& is_its);

  struct Raised {
    Finding finding;
    std::string essence;
  };
  std::map<std::string, Raised> standing_, raised_;
  std::map<std::string, int> rows_;
  bool knew_parameters_ = false;  // at the last tick that compared replicas
};

}  // namespace loupe::ranks
