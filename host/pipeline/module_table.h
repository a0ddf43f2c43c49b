#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/call_stack.h"
#include "core/lock_order.h"
#include "pipeline/model_node.h"

namespace loupe {

/// The modules that a monitor watches, and the node that stands for what the trainer pushes. Calls come one at a time,
/// except for lend and flags.
class ModuleTable {
 public:
  /// @param step  the run's clock, which outlives this  @param history  see ModuleNode
  ModuleTable(const std::atomic<uint64_t>& step, int64_t history);

  /// @param model  may be null, for a module outside of any  @param parent  of that model; may be null
  std::shared_ptr<ModuleNode> add(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                  const ModuleNode* parent);
  /// Forgets a module at once.
  void remove(const std::shared_ptr<ModuleNode>& module);
  /// Forgets every module that is closed.
  /// @param tell  is called with each before it is gone
  template <class Tell>
  void remove_closed(Tell&& tell) {
    const auto closed =
        std::stable_partition(modules_.begin(), modules_.end(), [](const auto& module) { return !module->closed(); });
    std::for_each(closed, modules_.end(), [&](const auto& module) {
      tell(*module);
      forget(*module);
    });
    modules_.erase(closed, modules_.end());
  }

  const std::vector<std::shared_ptr<ModuleNode>>& all() const { return modules_; }
  /// What the trainer pushes.
  ModuleNode& pushes() { return *pushes_; }
  /// The node behind a module; the pushes' node for null. Throws Error for one that is not attached.
  ModuleNode& node_of(const loupe_module* module);
  /// Whether two modules are shown under one name.
  bool has_equal_names() const;
  /// Where in the trainer's source to look for what a finding says: where the layer is called, the loss computed, or,
  /// of a whole model, its optimizer's step taken. None where that is not known.
  SourceLine place_of(const loupe_finding& finding) const;
  /// Calls with a parameter of a module, see ModuleDescription::lend. Any thread.
  bool lend(const loupe_module& module, const std::string& name, bool gradient, const ModuleDescription::Take& take);
  /// See ModuleNode::parameter_flags; none where the module is gone. Any thread.
  std::optional<uint32_t> flags(const loupe_module& module, std::size_t parameter);

  /// Calls with the pushes' node and then with each module.
  template <class Call>
  void each(Call&& call) const {
    call(*pushes_);
    for (const auto& module : modules_) call(*module);
  }
  /// How many values came since the last tick.
  uint64_t unticked() const;
  /// Warns of values that no tick has shown, which are in no record.
  void warn_of_unticked() const;
  /// Warns, once each, of outputs and inputs that a lens asks for and that a module does not have.
  void warn_of_lacking() const;

 private:
  void forget(const ModuleNode& module);

  const std::atomic<uint64_t>& step_;
  const int64_t history_;
  uint64_t next_id_ = 1;
  std::shared_ptr<ModuleNode> pushes_;
  std::vector<std::shared_ptr<ModuleNode>> modules_;
  std::unordered_map<uint64_t, ModuleNode*> by_id_;
  mutable std::optional<bool> equal_names_;  // once asked, until there are other modules
  LeafMutex shared_mutex_;
  std::unordered_map<uint64_t, const ModuleNode*> shared_;  // what any thread may ask of, by module
};

/// Of which parameters of a model only a sample is compared with earlier steps, as a sentence; empty without any.
std::string estimate_words(const std::deque<ModuleNode>& modules);

}  // namespace loupe
