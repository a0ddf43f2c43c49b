#include "pipeline/model_node.h"

#include <utility>

#include "core/utf8.h"

namespace loupe {

ModelNode::ModelNode(const std::string& own_name, const std::string& name, const std::string& type)
    : own_name_(utf8(own_name)), name_(utf8(name)), type_(utf8(type)) {
  c_model_ = {
      .struct_size = sizeof(loupe_model), .name = name_.c_str(), .type = type_.c_str(), .own_name = own_name_.c_str()};
}

ModelNode::~ModelNode() {
  while (!modules_.empty()) modules_.pop_back();  // children before their parents
}

std::shared_ptr<ModuleNode> ModelNode::add(uint64_t id, ModuleDescription description, const ModuleNode* parent,
                                           const std::atomic<uint64_t>& step, int64_t history) {
  description.model = own_name_;
  ModuleNode& node = modules_.emplace_back(id, std::move(description), step, history);
  const bool is_loss = (node.c_module()->flags & LOUPE_MODULE_LOSS) != 0;
  node.belong_to(is_loss ? nullptr : &c_model_, parent);
  // The others are met as the model runs, when any thread may read the list.
  if ((node.c_module()->flags & (uint32_t{LOUPE_MODULE_FUNCTIONAL} | uint32_t{LOUPE_DRAFT_MODULE_UNREGISTERED})) == 0) {
    c_modules_.push_back(node.c_module());
    c_model_.modules = c_modules_.data();
    c_model_.module_count = c_modules_.size();
    for (const ParameterDescription& each : node.description().parameters)
      c_model_.parameter_element_count += (each.flags & LOUPE_PARAMETER_BUFFER) != 0 ? 0 : each.numel;
  }
  return {shared_from_this(), &node};
}

}  // namespace loupe
