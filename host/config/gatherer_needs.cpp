#include "config/gatherer_needs.h"

#include <loupe/error.h>

#include "loader/component_instance.h"

namespace loupe {

std::string refusal_of(const CatalogueEntry& gatherer, const OptionSet& options, const char* label) {
  loupe_taps taps{};
  taps.struct_size = sizeof taps;
  taps.subscribe = [](void*, const loupe_subscription*, loupe_error*) { return loupe_status{LOUPE_OK}; };
  taps.emit = [](void*, const loupe_event*, loupe_error*) { return loupe_status{LOUPE_OK}; };
  loupe_module module{};
  module.struct_size = sizeof module;
  module.name = module.path = "";
  module.type = module.full_type = "Module";
  try {
    const std::string speaker = std::string("the gatherer '") + gatherer.component->name + "'";
    const ComponentInstance instance(gatherer, options.get(), speaker, nullptr);
    detail::ErrorBuffer error;
    const loupe_status status =
        instance.table<loupe_gatherer>().open(instance.self(), &taps, &module, label, error.get());
    return status == LOUPE_OK ? "" : error.text();
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

}  // namespace loupe
