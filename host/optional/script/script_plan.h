#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "script/script_model.h"

namespace loupe {

/// The place of an operator in a forward: the layer whose own operators ran last, and how often an operator of that
/// name ran since. The interpreter's optimizer replaces and reorders operators and forgets their layers, but keeps the
/// tensors that they read and their dependencies. So a place is the same in the script as written and as run.
struct ScriptPlace {
  const ScriptLayer* after = nullptr;
  int name = -1;
  int occurrence = 0;
  bool operator==(const ScriptPlace& other) const {
    return after == other.after && name == other.name && occurrence == other.occurrence;
  }
};

/// Follows a forward, operator by operator.
class ScriptProgress {
 public:
  explicit ScriptProgress(std::size_t names = 0) : counts_(names) {}
  /// The next operator. @param owner  the layer whose tensors it reads, or null  @param name  its number, or -1
  ScriptPlace next(const ScriptLayer* owner, int name);
  bool operator==(const ScriptProgress& other) const {
    return last_ == other.last_ && first_name_ == other.first_name_ && counts_ == other.counts_;
  }

 private:
  const ScriptLayer* last_ = nullptr;
  int first_name_ = -1;
  std::vector<int> counts_;
};

/// The results of the operators of one method of a TorchScript module, read from its source before it runs.
class ScriptPlan {
 public:
  struct Result {
    std::vector<ScriptLayer*> layers;  // the layers whose result it is, the innermost first
    bool may_go_on = false;            // the next operator may continue the result
    bool is_hidden = false;            // it runs inside one of LibTorch's own modules
    bool is_unclear = false;           // two operators look alike here
  };
  /// An empty plan.
  ScriptPlan() = default;
  /// @param self  a module of the model  @param method  such as "forward"; nothing is planned if there is none
  ScriptPlan(ScriptModel& model, ScriptLayer& self, const std::string& method);

  /// The number of an operator's name, as "aten::relu_"; -1 for one of no interest.
  int name_of(const char* name) const;
  std::size_t name_count() const { return name_count_; }
  /// Null where the script has no such operator.
  const Result* find(const ScriptPlace& place) const;
  /// A name for a result: its layer, or the function after the layer before it, such as "block.conv:relu".
  std::string words(const Result& result) const;
  /// Whether the result of any operator is the layer's.
  bool shows(const ScriptLayer& layer) const;

 private:
  friend class ScriptWalk;
  struct Hash {
    std::size_t operator()(const ScriptPlace& place) const {
      return std::hash<const void*>()(place.after) + static_cast<std::size_t>(place.name * 1009 + place.occurrence);
    }
  };
  std::unordered_map<std::string, int> names_;
  std::size_t name_count_ = 0;
  std::unordered_map<ScriptPlace, Result, Hash> results_;
};

/// Whether an operator only makes a view of a tensor, and computes nothing.
bool is_view(const std::string& operator_name);

/// Records for the model and each layer below whether this plan of its forward shows its results.
void judge_visibility(ScriptModel& model, const ScriptPlan& plan);

/// A plan, and the results that the first forward in each mode of the model showed: in one of the next few forwards the
/// interpreter may begin to compute several results in one piece.
struct Planned : ScriptPlan {
  using ScriptPlan::ScriptPlan;
  std::atomic<int> looks_left{24};
  std::mutex mutex;
  std::vector<const Result*> at_first[2];
  int lacking[2] = {0, 0};  // forwards in a row that lacked results
};

/// The plan of a method that a trainer calls on a model's module; made at the first call. Any thread.
std::shared_ptr<Planned> plan_of(const std::shared_ptr<ScriptModel>& model, ScriptLayer& layer,
                                 const std::string& method);

}  // namespace loupe
