#pragma once

#include <loupe/detail/option_values.h>
#include <loupe/event.h>
#include <loupe/host.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe::test {

/// A host that stores log messages.
class FakeHost {
 public:
  FakeHost() {
    table_.struct_size = sizeof table_;
    table_.version = "test";
    table_.context = this;
    table_.log = [](void* context, int32_t, const char* message) {
      static_cast<FakeHost*>(context)->said.push_back(message);
    };
    table_.get_extension = [](void*, const char*) -> const void* { return nullptr; };
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  Host host() { return Host(&table_); }
  std::vector<std::string> said;

 private:
  loupe_host table_{};
};

/// A module as the host shows it to a lens. A parameter has a name and a number of dimensions.
class FakeModule {
 public:
  FakeModule(std::string name, std::string type, uint32_t family = LOUPE_FAMILY_OTHER,
             uint32_t flags = LOUPE_MODULE_LEAF, std::vector<std::pair<std::string, int>> parameters = {})
      : name_(std::move(name)),
        type_(std::move(type)),
        full_type_("torch::nn::" + type_ + "Impl"),
        parameters_(std::move(parameters)),
        tables_(parameters_.size()) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      tables_[i].struct_size = sizeof tables_[i];
      tables_[i].name = parameters_[i].first.c_str();
      tables_[i].dim = parameters_[i].second;
      tables_[i].numel = 4;
      tables_[i].sizes = sizes_;
      pointers_.push_back(&tables_[i]);
    }
    module_.struct_size = sizeof module_;
    module_.flags = flags;
    module_.id = 1;
    module_.family = family;
    module_.name = module_.path = name_.c_str();
    module_.type = type_.c_str();
    module_.full_type = full_type_.c_str();
    module_.parameters = pointers_.data();
    module_.parameter_count = pointers_.size();
  }
  FakeModule(const FakeModule&) = delete;
  FakeModule& operator=(const FakeModule&) = delete;

  Module module() const { return Module(&module_); }

 private:
  static constexpr int64_t sizes_[8] = {4, 1, 1, 1, 1, 1, 1, 1};
  std::string name_, type_, full_type_;
  std::vector<std::pair<std::string, int>> parameters_;
  std::vector<loupe_parameter> tables_;
  std::vector<const loupe_parameter*> pointers_;
  loupe_module module_{};
};

/// Calls `use` with options that have these values, as a configuration would set them.
template <class Use>
void with_options(const std::vector<OptionValues::Item>& items, Use&& use) {
  OptionValues values;
  for (const auto& item : items) values.add(item);
  values.lend([&](const loupe_options* options) { use(Options(options)); });
}

}  // namespace loupe::test
