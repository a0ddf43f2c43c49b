#pragma once

#include <loupe/detail/component.h>

#include <memory>

#include "config/config.h"

namespace loupe::testing {

/// A component of the bench's own, whose instance is made of what `context` points at.
template <class Kind, class Made, class Context>
loupe_component own_component(const char* interface_id, const char* name, const void* table, Context& context) {
  loupe_component component{};
  component.struct_size = sizeof component;
  component.interface_id = interface_id;
  component.name = name;
  component.help = "part of loupe/testing.h";
  component.table = table;
  component.context = &context;
  component.create = [](const loupe_component* self, const loupe_host*, const loupe_options*, void** made,
                        loupe_error* error) {
    return loupe::detail::guarded(error,
                                  [&] { *made = static_cast<Kind*>(new Made(*static_cast<Context*>(self->context))); });
  };
  component.destroy = [](void* made) { delete static_cast<Kind*>(made); };
  return component;
}

inline ComponentConfig own_config(Kind kind, const loupe_component& component) {
  static const PluginLibrary library{
      .file = "loupe/testing.h", .path = "", .abi_major = LOUPE_ABI_MAJOR, .abi_minor = LOUPE_ABI_MINOR};
  return {{kind, &component, &library}, component.name, false, std::make_unique<OptionSet>(), 1, 1, "loupe/testing.h"};
}

}  // namespace loupe::testing
