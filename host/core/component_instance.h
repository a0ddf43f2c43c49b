#ifndef LOUPE_CORE_COMPONENT_INSTANCE_H
#define LOUPE_CORE_COMPONENT_INSTANCE_H

#include <loupe/abi.h>
#include <loupe/error.h>

#include <utility>

#include "core/any_size.h"
#include "core/host_interface.h"

namespace loupe {

/// A component that was created, and is destroyed with this object. Throws Error when it cannot be created.
class ComponentInstance {
 public:
  ComponentInstance() = default;
  ComponentInstance(const loupe_component& component, const loupe_options* options) : component_(&component) {
    detail::ErrorBuffer error;
    error.check(component.create(&host_interface(), options, &self_, error.get()));
  }
  ComponentInstance(ComponentInstance&& other) noexcept
      : component_(other.component_), self_(std::exchange(other.self_, nullptr)) {}
  ComponentInstance& operator=(ComponentInstance&& other) noexcept {
    std::swap(component_, other.component_);
    std::swap(self_, other.self_);
    return *this;
  }
  ~ComponentInstance() {
    if (self_ != nullptr) component_->destroy(self_);
  }

  void* self() const { return self_; }
  /// The kind's table; Table must match the component's interface_id.
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(component_->table);
  }

 private:
  const loupe_component* component_ = nullptr;
  void* self_ = nullptr;
};

}  // namespace loupe

#endif
