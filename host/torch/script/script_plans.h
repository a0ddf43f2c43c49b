#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "torch/script/script_plan.h"

namespace loupe {

/// A plan, and what its first forward showed, by whether the model trained: in one of the next few the interpreter may
/// begin to compute some of it in one piece.
struct Planned : ScriptPlan {
  using ScriptPlan::ScriptPlan;
  std::atomic<int> looks_left{24};
  std::mutex mutex;
  std::vector<const Result*> at_first[2];
  int lacking[2] = {0, 0};  // forwards in a row
};

/// The plan of a method that a trainer calls of a model's module; made at the first call. Any thread.
std::shared_ptr<Planned> plan_of(const std::shared_ptr<ScriptModel>& model, ScriptLayer& layer,
                                 const std::string& method);

}  // namespace loupe
