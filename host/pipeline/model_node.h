#pragma once

#include <loupe/abi.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/module_node.h"

namespace loupe {

/// A model as lenses and visualizers see it, with its modules. Whoever holds one of these holds all of it, so that what
/// points from one module to another, or to the model, never dangles.
class ModelNode : public std::enable_shared_from_this<ModelNode> {
 public:
  /// @param own_name  that it is attached under; may be empty  @param name  to show
  /// @param type  "torch::nn::SequentialImpl"
  ModelNode(const std::string& own_name, const std::string& name, const std::string& type);
  ~ModelNode();
  ModelNode(const ModelNode&) = delete;
  ModelNode& operator=(const ModelNode&) = delete;

  const loupe_model* c_model() const { return &c_model_; }
  const std::string& own_name() const { return own_name_; }
  const std::deque<ModuleNode>& modules() const { return modules_; }

  /// @param parent  of this model; may be null  For the rest see ModuleNode.
  std::shared_ptr<ModuleNode> add(uint64_t id, ModuleDescription description, const ModuleNode* parent,
                                  const std::atomic<uint64_t>& step, int64_t history);

 private:
  const std::string own_name_, name_, type_;
  loupe_model c_model_{};
  std::vector<const loupe_module*> c_modules_;
  std::deque<ModuleNode> modules_;
};

}  // namespace loupe
