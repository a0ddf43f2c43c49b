#pragma once

#include <loupe/abi.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// One parameter group of an optimizer.
struct GroupFacts {
  loupe_parameter_group group{.struct_size = sizeof(loupe_parameter_group)};  ///< the group without its settings
  std::vector<loupe_option_value> settings;                                   ///< their names are literals

  void set_rate(double rate) {
    group.learning_rate = rate;
    group.flags |= LOUPE_GROUP_HAS_LEARNING_RATE;
  }
  void set_weight_decay(double decay) {
    group.weight_decay = decay;
    group.flags |= LOUPE_GROUP_HAS_WEIGHT_DECAY;
  }
  void set(const char* name, double number) { add(LOUPE_TYPE_NUMBER, name, 0, number); }
  void set(const char* name, int64_t number) { add(LOUPE_TYPE_INTEGER, name, number, static_cast<double>(number)); }
  void set(const char* name, bool flag) { add(LOUPE_TYPE_BOOLEAN, name, flag, 0); }

 private:
  void add(uint32_t type, const char* name, int64_t integer, double number) {
    settings.push_back(
        {.struct_size = sizeof(loupe_option_value), .type = type, .name = name, .integer = integer, .number = number});
  }
};

/// The settings of an optimizer in the form of the ABI. Values may change, and groups may be added. Cannot be copied or
/// moved.
class OptimizerFacts {
 public:
  OptimizerFacts(uint64_t id, std::string model, std::string type) : model_(std::move(model)), type_(std::move(type)) {
    optimizer_ = {
        .struct_size = sizeof(loupe_optimizer), .id = id, .model_name = model_.c_str(), .type = type_.c_str()};
  }
  OptimizerFacts(const OptimizerFacts&) = delete;
  OptimizerFacts& operator=(const OptimizerFacts&) = delete;

  /// Call at each step: allocates only if there are more groups or settings than before.
  void set_groups(const std::vector<GroupFacts>& groups) {
    if (groups.size() != groups_.size()) {
      groups_ = std::vector<Group>(groups.size());
      pointers_.clear();
      for (const Group& each : groups_) pointers_.push_back(&each.group);
      optimizer_.groups = pointers_.data();
      optimizer_.group_count = pointers_.size();
    }
    for (std::size_t i = 0; i < groups.size(); ++i) groups_[i].set(groups[i]);
  }
  /// Call after set_groups, if the parameters have changed.
  /// @param held  the parameters of each group  @param model  may be null
  void set_parameters(const std::vector<std::vector<loupe_held_parameter>>& held, const loupe_model* model) {
    optimizer_.model = model;
    for (std::size_t i = 0; i < groups_.size() && i < held.size(); ++i) groups_[i].hold(held[i]);
  }
  const loupe_optimizer& get() const { return optimizer_; }

 private:
  struct Group {
    loupe_parameter_group group{};
    std::vector<loupe_option_value> values;
    std::vector<const loupe_option_value*> pointers;
    loupe_options settings{.struct_size = sizeof(loupe_options)};
    std::vector<loupe_held_parameter> held;
    std::vector<const loupe_held_parameter*> held_pointers;

    void hold(const std::vector<loupe_held_parameter>& parameters) {
      held = parameters;
      held_pointers.clear();
      for (const loupe_held_parameter& each : held) held_pointers.push_back(&each);
      show_held();
    }
    void show_held() {
      group.parameters = held_pointers.data();
      group.parameter_count = held_pointers.size();
    }
    void set(const GroupFacts& facts) {
      const bool moves = facts.settings.size() != values.size();
      values = facts.settings;  // works in place if their number is unchanged
      if (moves) {
        pointers.clear();
        for (const loupe_option_value& value : values) pointers.push_back(&value);
        settings.values = pointers.data();
        settings.value_count = pointers.size();
      }
      group = facts.group;
      group.settings = values.empty() ? nullptr : &settings;
      show_held();
    }
  };

  std::string model_, type_;
  std::vector<Group> groups_;
  std::vector<const loupe_parameter_group*> pointers_;
  loupe_optimizer optimizer_;
};

}  // namespace loupe
