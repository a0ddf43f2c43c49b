#ifndef LOUPE_PIPELINE_OPTIMIZER_FACTS_H
#define LOUPE_PIPELINE_OPTIMIZER_FACTS_H

#include <loupe/abi.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// The settings of an optimizer in the form of the ABI. The groups' numbers may change, and groups may be added.
/// Neither copied nor moved.
class OptimizerFacts {
 public:
  OptimizerFacts(uint64_t id, std::string model, std::string type) : model_(std::move(model)), type_(std::move(type)) {
    optimizer_ = {.struct_size = sizeof(loupe_optimizer), .id = id, .model = model_.c_str(), .type = type_.c_str()};
  }
  OptimizerFacts(const OptimizerFacts&) = delete;
  OptimizerFacts& operator=(const OptimizerFacts&) = delete;

  /// One entry per group, each with its struct_size.
  void set_groups(const std::vector<loupe_parameter_group>& groups) {
    if (groups.size() != groups_.size()) {
      groups_ = groups;
      pointers_.clear();
      for (const loupe_parameter_group& group : groups_) pointers_.push_back(&group);
      optimizer_.groups = pointers_.data();
      optimizer_.group_count = pointers_.size();
    } else {
      for (std::size_t i = 0; i < groups.size(); ++i) groups_[i] = groups[i];
    }
  }
  const loupe_optimizer& get() const { return optimizer_; }

 private:
  std::string model_, type_;
  std::vector<loupe_parameter_group> groups_;
  std::vector<const loupe_parameter_group*> pointers_;
  loupe_optimizer optimizer_;
};

}  // namespace loupe

#endif
