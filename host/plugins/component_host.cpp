#include "plugins/component_host.h"

#include <loupe/error.h>

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/log.h"
#include "loupe/version.h"
#include "plugins/running_component.h"

namespace loupe {
namespace {

ComponentHost& host_of(void* context) {
  return *static_cast<ComponentHost*>(context);
}

const loupe_run_service run_service = {sizeof(loupe_run_service), 0, [](void* context) -> const loupe_run* {
                                         const Surroundings* around = host_of(context).surroundings();
                                         return around != nullptr ? around->run() : nullptr;
                                       }};
const loupe_findings findings_service = {sizeof(loupe_findings), 0,
                                         [](void* context, const loupe_finding* finding, loupe_error* error) {
                                           return detail::guarded(error, [&] {
                                             ComponentHost& host = host_of(context);
                                             if (host.surroundings() == nullptr)
                                               throw Error("there is no run that a finding could belong to");
                                             if (finding == nullptr)
                                               throw Error("a finding is published that is null", LOUPE_INVALID);
                                             host.surroundings()->publish(*finding, host.speaker());
                                           });
                                         }};

const loupe_parameters parameters_service = {
    sizeof(loupe_parameters), 0,
    [](void* context, const loupe_module* module, const char* name, uint32_t gradient, loupe_take_tensor take,
       void* taker, loupe_error* error) {
      return detail::guarded(error, [&] {
        Surroundings* around = host_of(context).surroundings();
        if (module == nullptr || name == nullptr || take == nullptr)
          throw Error("a parameter is asked for without a module, a name or a function that takes it", LOUPE_INVALID);
        const bool found = around != nullptr && around->lend(*module, name, gradient != 0,
                                                             [&](const loupe_tensor& tensor) { take(taker, &tensor); });
        if (found) return;
        throw Error("the module '" + std::string(module->name) + "' has no " +
                        (gradient != 0 ? "gradient of '" : "parameter or buffer '") + name + "' now",
                    LOUPE_NOT_FOUND);
      });
    }};

// Services of the process as a whole, such as those that need LibTorch.
std::mutex mutex;
std::map<std::string, const void*>& services() {
  static std::map<std::string, const void*> map;
  return map;
}

const void* service(const char* id) {
  if (id == nullptr) return nullptr;
  if (std::strcmp(id, LOUPE_RUN_ID) == 0) return &run_service;
  if (std::strcmp(id, LOUPE_FINDINGS_ID) == 0) return &findings_service;
  if (std::strcmp(id, LOUPE_PARAMETERS_ID) == 0) return &parameters_service;
  const std::lock_guard lock(mutex);
  const auto found = services().find(id);
  return found == services().end() ? nullptr : found->second;
}

}  // namespace

ComponentHost::ComponentHost(std::string speaker, Surroundings* surroundings)
    : speaker_(std::move(speaker)), surroundings_(surroundings) {
  host_ = {sizeof(loupe_host),
           LOUPE_ABI_MAJOR,
           LOUPE_ABI_MINOR,
           0,
           LOUPE_VERSION,
           this,
           [](void* context, int32_t level, const char* message) {
             detail::guarded(nullptr, [&] {
               log(level, host_of(context).speaker() + ": " + (message != nullptr ? message : "(no message)"));
             });
           },
           [](void* context, const char* id) {
             // Nobody but a component asks: a thread that no call of ours runs on is one that it has made.
             RunningComponent::claim_thread(host_of(context).speaker().c_str());
             return service(id);
           }};
}

void offer_interface(const char* id, const void* table) {
  const std::lock_guard lock(mutex);
  services()[id] = table;
}

}  // namespace loupe
