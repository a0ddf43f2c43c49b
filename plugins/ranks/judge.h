#pragma once

#include <loupe/finding.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ranks/rank_record.h"

namespace loupe::ranks {

/// The data of all ranks on one model at a tick.
struct Said {
  struct Group {
    Replica replica;
    std::vector<int> ranks;
  };
  std::vector<Group> replicas;  ///< ranks with the same data are one group
  std::vector<Group> buffers;   ///< the same for buffers, which are in `parameters`
  std::vector<Group> states;    ///< the same for the states of optimizers
  std::map<int, RankRecord> records;
  int world_size = 0;
};

/// A parameter or buffer; the index is the same as in Replica.
struct NamedTensor {
  std::string layer, name;
  bool is_buffer = false;
};

/// Compares the ranks of one model at each tick.
class Judge {
 public:
  using Tell = std::function<void(const Finding&)>;
  /// Reports findings that are new, have changed or are resolved.
  void judge(const Said& said, const std::vector<NamedTensor>& tensors, const Tell& tell);

 private:
  void judge_settings(const Said& said);
  void judge_replicas(const Said& said, const std::vector<NamedTensor>& tensors);
  void judge_modes(const Said& said);
  void judge_batches(const Said& said);
  void judge_masks(const Said& said);
  void judge_non_finite(const Said& said);
  /// Returns whether it is known in which ranks the first NaN or Inf of this kind appeared.
  bool judge_origin(const Said& said, RankRecord::NonFinite RankRecord::*kind);
  void judge_times(const Said& said);
  void judge_balance(const Said& said);
  /// A number that each rank has.
  struct Number {
    const char* name;
    double most;  ///< the largest acceptable ratio to the nearest other rank's number
    double RankRecord::*value;
    const char* advice;
    const char* cause = nullptr;  ///< another number whose deviation explains this one's
    bool of_two = false;          ///< whether to compare only two ranks, too
  };
  void judge_balance_of(const Said& said, const Number& number);

  /// For how many consecutive ticks `is_so` was true for `key`, including this one; 0 if it is false.
  int in_a_row(const std::string& key, bool is_so);
  /// @param essence  a finding is reported again if this text changes, but not if only its figures change
  void raise(Finding finding, std::string essence);
  /// Keeps the open findings of a rule that could not be judged at this tick.
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
