#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace loupe::test {

struct MadeModule {
  std::string name, type;
  std::vector<std::vector<int64_t>> shapes = {};  ///< shapes of its own parameters
  bool leaf = true;
};

/// A model of such modules in the C form that visualizers get. Its C form is valid while this object lives.
class MadeModel {
 public:
  MadeModel(std::string name, std::string type, std::vector<MadeModule> modules)
      : name_(std::move(name)), type_(std::move(type)), made_(std::move(modules)) {
    for (const MadeModule& each : made_) add(each);
  }
  MadeModel(const MadeModel&) = delete;
  MadeModel& operator=(const MadeModel&) = delete;

  loupe_model told() const {
    return {sizeof(loupe_model), 0, name_.c_str(), type_.c_str(), elements_, pointers_.data(), pointers_.size(), ""};
  }

 private:
  void add(const MadeModule& made) {
    std::vector<const loupe_parameter*>& own = own_.emplace_back();
    for (const auto& sizes : made.shapes) {
      int64_t elements = 1;
      for (const int64_t size : sizes) elements *= size;
      parameters_.push_back({.struct_size = sizeof(loupe_parameter),
                             .name = "weight",
                             .dim = static_cast<int64_t>(sizes.size()),
                             .numel = elements,
                             .sizes = sizes.data()});
      own.push_back(&parameters_.back());
      elements_ += elements;
    }
    loupe_module module{};
    module.struct_size = sizeof module;
    module.flags = made.leaf ? LOUPE_MODULE_LEAF : 0;
    module.name = module.path = made.name.c_str();
    module.type = module.full_type = made.type.c_str();
    module.parameters = own.data();
    module.parameter_count = own.size();
    modules_.push_back(module);
    pointers_.push_back(&modules_.back());
  }

  std::string name_, type_;
  std::vector<MadeModule> made_;
  int64_t elements_ = 0;
  std::deque<std::vector<const loupe_parameter*>> own_;
  std::deque<loupe_parameter> parameters_;
  std::deque<loupe_module> modules_;
  std::vector<const loupe_module*> pointers_;
};

}  // namespace loupe::test
