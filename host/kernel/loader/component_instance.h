#pragma once

#include <loupe/abi.h>
#include <loupe/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/shared.h"
#include "core/strict.h"
#include "loader/catalogue.h"
#include "loader/loaded_components.h"
#include "loader/running_component.h"

namespace loupe {

/// The data shared by the components of one inspector or replay: their run and its parameters. Outlives them.
class ComponentContext {
 public:
  /// @param around  answers what this context cannot; may be null, and outlives this
  explicit ComponentContext(ComponentContext* around = nullptr) : around_(around) {}
  virtual ~ComponentContext() = default;
  /// Null without one. Any thread.
  virtual const loupe_run* run() const = 0;
  /// Whether two modules have one shown name, so that a lens has two values for it. Calls never overlap.
  virtual bool has_equal_names() const { return false; }
  using Take = std::function<void(const loupe_tensor&)>;
  /// Calls `take` with a parameter or buffer of an attached module, or its gradient; false without one. Any
  /// thread.
  virtual bool lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) {
    return around_ != nullptr && around_->lend(module, name, gradient, take);
  }
  /// The current LOUPE_PARAMETER_ bits of a parameter of an attached module; nullopt without one. Any thread.
  virtual std::optional<uint32_t> parameter_flags(const loupe_module& module, std::size_t parameter) {
    return around_ != nullptr ? around_->parameter_flags(module, parameter) : std::nullopt;
  }
  /// The list of created components; null if nobody keeps one. Any thread.
  virtual LoadedComponents* loaded() { return around_ != nullptr ? around_->loaded() : nullptr; }

 private:
  ComponentContext* around_;
};

/// The host as seen by one instance of a component; begins the component's log lines with its name.
class ComponentHost {
 public:
  /// @param speaker  "the lens 'x'"  @param surroundings  may be null
  /// @param plugin_path  the file of its plugin; empty if part of the program
  /// @param name  the instance's, as the user knows it
  ComponentHost(std::string speaker, ComponentContext* surroundings, std::string plugin_path = "",
                std::string name = "");
  ComponentHost(const ComponentHost&) = delete;
  ComponentHost& operator=(const ComponentHost&) = delete;

  const loupe_host* get() const { return &host_; }
  /// Drops its warnings from now on: they are about options that the user did not write.
  void leave_out_warnings() { leaves_out_warnings_ = true; }
  bool leaves_out(int32_t level) const { return leaves_out_warnings_ && level == LOUPE_LOG_WARNING; }
  const std::string& speaker() const { return speaker_; }
  ComponentContext* surroundings() const { return surroundings_; }
  /// The component requested this id, and the host `has` it or not; records drafts, or reports missing ones.
  void note_asked(const char* id, bool has) const;

 private:
  std::string speaker_, plugin_path_, name_;
  ComponentContext* surroundings_;
  bool leaves_out_warnings_ = false;
  loupe_host host_;
};

/// Offers a service, such as LOUPE_TENSORS_ID, to all components of this process. `load` is called with its id, without
/// a lock of Loupe's, whenever a component requests it, and returns null if it cannot be loaded. Any thread.
using LoadService = std::function<const void*(const char* id)>;
void offer_interface(const char* id, LoadService load);
/// The same for a table that is never destroyed.
inline void offer_interface(const char* id, const void* table) {
  offer_interface(id, [table](const char*) { return table; });
}

/// A member as a function of a table, with the object as first argument: an exception becomes a failure.
template <auto member>
struct Bound;
template <class Class, class... Arguments, void (Class::*member)(Arguments...)>
struct Bound<member> {
  static loupe_status call(void* self, Arguments... arguments, loupe_error* error) {
    return detail::guarded(error, [&] { (static_cast<Class*>(self)->*member)(arguments...); });
  }
};

/// Dereferences a pointer from the other side. Throws Error for null.
template <class T>
T& given(T* pointer, const char* fault) {
  if (pointer == nullptr) throw Error(fault, LOUPE_INVALID);
  return *pointer;
}

/// Calls into a component: records who runs, and turns an exception, which must not leave a plugin, into a failure.
template <class Body>
loupe_status call_component(const char* speaker, loupe_error* error, Body&& body) {
  const RunningComponent running(speaker);
  try {
    return body();
  } catch (const std::exception& e) {
    detail::write_error(error, (std::string("the plugin let an exception escape: ") + e.what()).c_str());
  } catch (...) {
    detail::write_error(error, "the plugin let an exception escape");
  }
  return LOUPE_FAILED;
}

/// The same for parts of the host, which cannot record who runs.
LOUPE_SHARED loupe_status call_component_for_part(const char* speaker, loupe_error* error,
                                                  const std::function<loupe_status()>& body);

/// Owns a created component. Throws Error if it cannot be created.
class ComponentInstance {
 public:
  ComponentInstance() = default;
  /// @param speaker  its name for the user: "the lens 'x'"  @param surroundings  may be null
  /// @param name  the name given by the user; empty: the component's
  ComponentInstance(const CatalogueEntry& entry, const loupe_options* options, std::string speaker,
                    ComponentContext* surroundings, const std::string& name = "")
      : component_(entry.component),
        host_(std::make_unique<ComponentHost>(std::move(speaker), surroundings, entry.library->path,
                                              name.empty() ? entry.component->name : name)) {
    detail::ErrorBuffer error;
    error.check(call_component(host_->speaker().c_str(), error.get(), [&] {
      return component_->create(component_, host_->get(), options, &self_, error.get());
    }));
    if (surroundings != nullptr && surroundings->loaded() != nullptr) surroundings->loaded()->add(entry);
  }
  ComponentInstance(ComponentInstance&& other) noexcept
      : component_(other.component_), self_(std::exchange(other.self_, nullptr)), host_(std::move(other.host_)) {}
  ComponentInstance& operator=(ComponentInstance&& other) noexcept {
    std::swap(component_, other.component_);
    std::swap(self_, other.self_);
    std::swap(host_, other.host_);
    return *this;
  }
  ~ComponentInstance() {
    if (self_ == nullptr) return;
    call_component(speaker(), nullptr, [&] {
      component_->destroy(self_);
      return LOUPE_OK;
    });
  }

  void* self() const { return self_; }
  /// See ComponentHost::leave_out_warnings.
  void leave_out_warnings() { host_->leave_out_warnings(); }
  const char* speaker() const { return host_->speaker().c_str(); }
  /// The kind's table; Table must match the component's interface_id.
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(component_->table);
  }

 private:
  const loupe_component* component_ = nullptr;
  void* self_ = nullptr;
  std::unique_ptr<ComponentHost> host_;
};

}  // namespace loupe
