#pragma once

#include <loupe/error.h>

#include <deque>
#include <string>
#include <vector>

namespace loupe::test {

/// Loads build/lib/loupe/plugins/NAME.so, once a process, through nothing but its entry. Throws std::runtime_error.
const loupe_plugin& load_plugin(const std::string& name);
/// The component of that interface and name (or alias), never null; throws std::runtime_error.
const loupe_component* find_component(const std::string& plugin, const char* interface_id, const std::string& name);

/// A component's options: its declared defaults, and what is set over them. Setting what was not declared, or with
/// another type or outside the declared choices, throws std::runtime_error, as the host would refuse it.
class ComponentOptions {
 public:
  /// @param yaml a map such as "{death: false}"
  ComponentOptions(const loupe_component& component, const std::string& yaml);
  /// @param set what a lens gives a preprocessor; may be null
  ComponentOptions(const loupe_component& component, const loupe_options* set);
  ComponentOptions(const ComponentOptions&) = delete;
  ComponentOptions& operator=(const ComponentOptions&) = delete;

  const loupe_options* get() const { return &options_; }

 private:
  struct Value {
    std::string text;
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
    loupe_option_value value{};
  };
  explicit ComponentOptions(const loupe_component& component);
  Value& at(const loupe_component& component, const std::string& name);
  void set(const loupe_option& declared, Value& value, const std::string& yaml);

  std::deque<Value> values_;
  std::vector<const loupe_option_value*> pointers_;
  loupe_options options_{};
};

/// The host that components are created with: it logs to fake_log() and offers loupe.tensors for CPU tensors.
const loupe_host& fake_host();
std::vector<std::string>& fake_log();

/// One component's instance.
class Instance {
 public:
  Instance(const loupe_component& component, const ComponentOptions& options);
  ~Instance() { component_.destroy(self_); }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  void* self() const { return self_; }
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(component_.table);
  }

 private:
  const loupe_component& component_;
  void* self_ = nullptr;
};

}  // namespace loupe::test
