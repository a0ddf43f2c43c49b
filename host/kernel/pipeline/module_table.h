#pragma once

#include <loupe/abi.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/call_stack.h"
#include "core/locks.h"
#include "core/shared.h"
#include "pipeline/module_node.h"

namespace loupe {

/// A model as lenses and visualizers see it, with its modules. Holding one module keeps the whole model alive, so that
/// pointers between modules and to the model never dangle.
class ModelNode : public std::enable_shared_from_this<ModelNode> {
 public:
  /// @param own_name  the name it is attached under; may be empty  @param name  the name to show
  /// @param type  "torch::nn::SequentialImpl"
  LOUPE_SHARED ModelNode(const std::string& own_name, const std::string& name, const std::string& type);
  LOUPE_SHARED ~ModelNode();
  ModelNode(const ModelNode&) = delete;
  ModelNode& operator=(const ModelNode&) = delete;

  const loupe_model* c_model() const { return &c_model_; }
  const std::string& own_name() const { return own_name_; }
  const std::deque<ModuleNode>& modules() const { return modules_; }

  /// @param parent  a module of this model; may be null. For the rest see ModuleNode.
  std::shared_ptr<ModuleNode> add(uint64_t id, ModuleDescription description, const ModuleNode* parent,
                                  const std::atomic<uint64_t>& step, int64_t history);

 private:
  const std::string own_name_, name_, type_;
  loupe_model c_model_{};
  std::vector<const loupe_module*> c_modules_;
  std::deque<ModuleNode> modules_;
};

/// The modules that a monitor watches, and the node of pushed values. Calls come one at a time, except for lend and
/// flags.
class ModuleTable {
 public:
  /// @param step  the run's clock, which outlives this  @param history  see ModuleNode
  LOUPE_SHARED ModuleTable(const std::atomic<uint64_t>& step, int64_t history);

  /// @param model  null for a module outside any model  @param parent  a module of that model; may be null
  LOUPE_SHARED std::shared_ptr<ModuleNode> add(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                               const ModuleNode* parent);
  bool has(const ModuleNode& module) const {
    const std::lock_guard lock(index_mutex_);
    return find(module.c_module()->id) != nullptr;
  }
  /// Forgets a module at once.
  void remove(const std::shared_ptr<ModuleNode>& module);
  /// Forgets every module that is closed.
  /// @param tell  called with each before it is removed
  template <class Tell>
  void remove_closed(Tell&& tell) {
    const auto closed =
        std::stable_partition(modules_.begin(), modules_.end(), [](const auto& module) { return !module->closed(); });
    // Starts from the last one, which is quick because lists are shortened from their ends.
    std::for_each(modules_.rbegin(), std::make_reverse_iterator(closed), [&](const auto& module) {
      tell(*module);
      forget(*module);
    });
    modules_.erase(closed, modules_.end());
  }

  const std::vector<std::shared_ptr<ModuleNode>>& all() const { return modules_; }
  /// The node of pushed values.
  ModuleNode& pushes() { return *pushes_; }
  /// The node behind a module; the pushes' node for null. Throws Error for one that is not attached.
  LOUPE_SHARED ModuleNode& node_of(const loupe_module* module);
  /// Whether two modules are shown under one name.
  LOUPE_SHARED bool has_equal_names() const;
  /// The line of the trainer's source that a finding concerns: the call of the layer, the computation of the loss, or,
  /// for a whole model, its optimizer's step. Empty if unknown.
  SourceLine place_of(const loupe_finding& finding) const;
  /// See ModuleDescription::lend. Any thread.
  bool lend(const loupe_module& module, const std::string& name, bool gradient, const ModuleDescription::Take& take);
  /// See ModuleNode::parameter_flags; nullopt if the module no longer exists. Any thread.
  std::optional<uint32_t> flags(const loupe_module& module, std::size_t parameter);

  /// Calls `call` with the pushes' node and then with each module.
  template <class Call>
  void each(Call&& call) const {
    call(*pushes_);
    for (const auto& module : modules_) call(*module);
  }
  /// The number of values since the last tick.
  uint64_t unticked() const;
  /// Warns of values that no tick has shown.
  void warn_of_unticked() const;
  /// Warns, once each, of outputs and inputs that a lens requests and a module lacks.
  void warn_of_lacking() const;

 private:
  void forget(const ModuleNode& module);
  /// Null if the module no longer exists. Under index_mutex_.
  ModuleNode* find(uint64_t id) const;

  const std::atomic<uint64_t>& step_;
  const int64_t history_;
  uint64_t next_id_ = 1;
  std::shared_ptr<ModuleNode> pushes_;
  std::vector<std::shared_ptr<ModuleNode>> modules_;
  mutable std::optional<bool> equal_names_;  // set on demand, until modules change
  mutable LeafMutex index_mutex_;            // any thread may look a module up
  std::unordered_map<uint64_t, ModuleNode*> by_id_;
};

/// A sentence about parameters for which only a sample is compared with earlier steps; empty if there are none.
std::string estimate_words(const std::deque<ModuleNode>& modules);

}  // namespace loupe
