#pragma once

#include <loupe/abi.h>
#include <loupe/error.h>

#include <memory>
#include <string>
#include <utility>

#include "core/strict.h"
#include "loader/catalogue.h"
#include "loader/component_host.h"
#include "loader/running_component.h"

namespace loupe {

/// Makes a call into a component: notes who runs, and turns an exception, which must not leave a plugin, into a
/// failure.
template <class Body>
loupe_status call_component(const char* speaker, loupe_error* error, Body&& body) {
  const RunningComponent running(speaker);
  try {
    return body();
  } catch (const std::exception& e) {
    detail::write_error(error, (std::string("an exception left the plugin, which must not be: ") + e.what()).c_str());
  } catch (...) {
    detail::write_error(error, "an exception left the plugin, which must not be");
  }
  return LOUPE_FAILED;
}

/// A component that was created, and is destroyed with this object. Throws Error when it cannot be created.
class ComponentInstance {
 public:
  ComponentInstance() = default;
  /// @param speaker  who it is, for the user: "the lens 'x'"  @param surroundings  may be null
  ComponentInstance(const CatalogueEntry& entry, const loupe_options* options, std::string speaker,
                    Surroundings* surroundings)
      : component_(entry.component),
        host_(std::make_unique<ComponentHost>(std::move(speaker), surroundings, entry.library->path)) {
    detail::ErrorBuffer error;
    error.check(call_component(host_->speaker().c_str(), error.get(), [&] {
      return component_->create(component_, host_->get(), options, &self_, error.get());
    }));
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
  const loupe_component& component() const { return *component_; }

 private:
  const loupe_component* component_ = nullptr;
  void* self_ = nullptr;
  std::unique_ptr<ComponentHost> host_;
};

}  // namespace loupe
