#include "loader/component_instance.h"

#include <loupe/error.h>

#include <cstring>
#include <map>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "loader/running_component.h"
#include "loupe/version.h"

namespace loupe {
namespace {

ComponentHost& host_of(void* context) {
  return *static_cast<ComponentHost*>(context);
}

const loupe_run_service run_service = {.struct_size = sizeof(loupe_run_service),
                                       .run = [](void* context) -> const loupe_run* {
                                         const ComponentContext* around = host_of(context).surroundings();
                                         return around != nullptr ? around->run() : nullptr;
                                       }};

const loupe_parameter_service parameters_service = {
    .struct_size = sizeof(loupe_parameter_service),
    .lend =
        [](void* context, const loupe_module* module, const char* name, uint32_t flags, loupe_take_tensor take,
           void* taker, loupe_error* error) {
          return detail::guarded(error, [&] {
            ComponentContext* around = host_of(context).surroundings();
            const bool gradient = (flags & LOUPE_LEND_GRADIENT) != 0;
            if (module == nullptr || name == nullptr || take == nullptr)
              throw Error("a parameter is asked for without a module, a name or a function that takes it",
                          LOUPE_INVALID);
            const bool found =
                around != nullptr &&
                around->lend(*module, name, gradient, [&](const loupe_tensor& tensor) { take(taker, &tensor); });
            if (found) return;
            throw Error("the module '" + std::string(module->name) + "' has no " +
                            (gradient ? "gradient of '" : "parameter or buffer '") + name + "' now",
                        LOUPE_NOT_FOUND);
          });
        },
    .flags =
        [](void* context, const loupe_module* module, std::size_t index, uint32_t* flags, loupe_error* error) {
          return detail::guarded(error, [&] {
            if (module == nullptr || flags == nullptr)
              throw Error("the flags of a parameter are asked for without a module, or without a place for them",
                          LOUPE_INVALID);
            ComponentContext* around = host_of(context).surroundings();
            const auto now = around != nullptr ? around->parameter_flags(*module, index) : std::nullopt;
            if (!now) {
              throw Error("the module '" + std::string(module->name) + "' is detached, or has no parameter of number " +
                              std::to_string(index),
                          LOUPE_NOT_FOUND);
            }
            *flags = *now;
          });
        }};

// Services of the process as a whole, such as those that need LibTorch.
ProcessMutex services_mutex;
std::map<std::string, const void*>& services() {
  static auto& map = *new std::map<std::string, const void*>();
  return map;
}

const void* service(const char* id) {
  if (id == nullptr) return nullptr;
  if (std::strcmp(id, LOUPE_RUN_ID) == 0) return &run_service;
  if (std::strcmp(id, LOUPE_PARAMETERS_ID) == 0) return &parameters_service;
  const std::lock_guard lock(services_mutex);
  const auto found = services().find(id);
  return found == services().end() ? nullptr : found->second;
}

}  // namespace

ComponentHost::ComponentHost(std::string speaker, ComponentContext* surroundings, std::string plugin_path)
    : speaker_(std::move(speaker)), plugin_path_(std::move(plugin_path)), surroundings_(surroundings) {
  host_ = {.struct_size = sizeof(loupe_host),
           .abi_major = LOUPE_ABI_MAJOR,
           .abi_minor = LOUPE_ABI_MINOR,
           .version = LOUPE_VERSION,
           .plugin_path = plugin_path_.c_str(),
           .context = this,
           .log =
               [](void* context, int32_t level, const char* message) {
                 detail::guarded(nullptr, [&] {
                   if (host_of(context).leaves_out(level)) return;
                   log(level, host_of(context).speaker() + ": " + (message != nullptr ? message : "(no message)"));
                 });
               },
           .get_extension =
               [](void* context, const char* id) {
                 // Called by components only; an unknown thread was created by the plugin.
                 RunningComponent::claim_thread(host_of(context).speaker().c_str());
                 const void* table = service(id);
                 if (table != nullptr) host_of(context).note_asked(id);
                 return table;
               }};
}

void ComponentHost::note_asked(const char* id) const {
  if (std::strstr(id, "/draft-") == nullptr || surroundings_ == nullptr) return;
  if (LoadedComponents* loaded = surroundings_->loaded()) loaded->add_draft(plugin_path_, id);
}

void offer_interface(const char* id, const void* table) {
  const std::lock_guard lock(services_mutex);
  services()[id] = table;
}

}  // namespace loupe
