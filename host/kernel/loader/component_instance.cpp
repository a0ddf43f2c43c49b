#include "loader/component_instance.h"

#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/history.h>
#include <loupe/draft/abi/incidents.h>
#include <loupe/draft/abi/last_words.h>
#include <loupe/draft/abi/lens_query.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/abi/measured.h>
#include <loupe/draft/abi/option_names.h>
#include <loupe/draft/abi/ranks.h>
#include <loupe/draft/abi/rows.h>
#include <loupe/draft/abi/settings.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/draft/abi/tensor_math.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "core/forks.h"
#include "core/last_words.h"
#include "core/log.h"
#include "core/text.h"
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
              throw Error("a parameter is requested with a null module, name or function", LOUPE_INVALID);
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
              throw Error("the flags of a parameter are requested with a null module or pointer", LOUPE_INVALID);
            ComponentContext* around = host_of(context).surroundings();
            const auto now = around != nullptr ? around->parameter_flags(*module, index) : std::nullopt;
            if (!now) {
              throw Error("the module '" + std::string(module->name) +
                              "' is detached, or has no parameter with the index " + std::to_string(index),
                          LOUPE_NOT_FOUND);
            }
            *flags = *now;
          });
        }};

const loupe_draft_last_words_service last_words_service = {
    .struct_size = sizeof(loupe_draft_last_words_service),
    .add =
        [](void* context, loupe_draft_last_words speak, void* place) {
          ComponentContext* around = host_of(context).surroundings();
          LastWords::add(around != nullptr ? around->loaded() : nullptr, speak, place);
        },
    .remove = [](void*, void* place) { LastWords::remove(place); }};

// Services of the process as a whole, such as those that need LibTorch.
ProcessMutex services_mutex;
std::map<std::string, LoadService>& services() {
  static auto& map = *new std::map<std::string, LoadService>();
  return map;
}

// The first ones have no table here: they are bits and names, or components offer them. LibTorch's part has the rest.
constexpr std::string_view drafts[] = {
    LOUPE_DRAFT_FLAGS_ID,        LOUPE_DRAFT_LOSS_INPUT_ID,       LOUPE_DRAFT_STEP_TIME_ID,
    LOUPE_DRAFT_OPTION_NAMES_ID, LOUPE_DRAFT_HISTORY_ID,          LOUPE_DRAFT_INCIDENTS_ID,
    LOUPE_DRAFT_LENS_QUERY_ID,   LOUPE_DRAFT_MEASURED_ID,         LOUPE_DRAFT_RANKS_ID,
    LOUPE_DRAFT_ROWS_ID,         LOUPE_DRAFT_LAST_WORDS_ID,       LOUPE_DRAFT_SETTINGS_ID,
    LOUPE_DRAFT_TENSOR_MATH_ID,  LOUPE_DRAFT_TENSOR_FILES_ID,     LOUPE_DRAFT_GRAPH_ID,
    LOUPE_DRAFT_FINGERPRINTS_ID, LOUPE_DRAFT_OPTIMIZER_STATES_ID, LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID};
constexpr std::size_t without_table = 10;

/// The draft that this Loupe has in place of an unknown one; empty for any other id.
std::string instead_of(std::string_view id) {
  const std::size_t stem = id.find("/draft-");
  if (stem == std::string_view::npos) return "";
  for (const std::string_view known : drafts) {
    if (known == id) return "";
    if (known.substr(0, stem + 1) == id.substr(0, stem + 1)) return "'" + std::string(known) + "'";
  }
  return "nothing";
}

const void* service(const char* id) {
  if (id == nullptr) return nullptr;
  if (std::find(drafts, drafts + without_table, id) != drafts + without_table) return drafts;
  if (std::strcmp(id, LOUPE_RUN_ID) == 0) return &run_service;
  if (std::strcmp(id, LOUPE_PARAMETERS_ID) == 0) return &parameters_service;
  if (std::strcmp(id, LOUPE_DRAFT_LAST_WORDS_ID) == 0) return &last_words_service;
  LoadService load;
  {
    const std::lock_guard lock(services_mutex);
    const auto offered = services().find(id);
    if (offered != services().end()) load = offered->second;
  }
  return load ? load(id) : nullptr;
}

}  // namespace

ComponentHost::ComponentHost(std::string speaker, ComponentContext* surroundings, std::string plugin_path,
                             std::string name)
    : speaker_(std::move(speaker)),
      plugin_path_(std::move(plugin_path)),
      name_(std::move(name)),
      surroundings_(surroundings) {
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
                   log(level,
                       host_of(context).speaker() + ": " + (message != nullptr ? utf8(message) : "(no message)"));
                 });
               },
           .get_extension =
               [](void* context, const char* id) {
                 // Called by components only; an unknown thread was created by the plugin.
                 RunningComponent::claim_thread(host_of(context).speaker().c_str());
                 const void* table = service(id);
                 if (id != nullptr && std::strstr(id, "/draft-") != nullptr)
                   host_of(context).note_asked(id, table != nullptr);
                 return table;
               },
           .name = name_.c_str()};
}

void ComponentHost::note_asked(const char* id, bool has) const {
  LoadedComponents* const loaded = surroundings_ != nullptr ? surroundings_->loaded() : nullptr;
  if (has && loaded != nullptr) loaded->add_draft(plugin_path_, id);
  if (const std::string instead = has ? "" : instead_of(id); !instead.empty())
    log(LOUPE_LOG_WARNING, speaker_ + " asks for '" + id + "', a draft that this Loupe does not have; it has " +
                               instead + " instead: build the plugin with this Loupe's SDK");
}

void offer_interface(const char* id, LoadService load) {
  const std::lock_guard lock(services_mutex);
  services()[id] = std::move(load);
}

loupe_status call_component_for_part(const char* speaker, loupe_error* error,
                                     const std::function<loupe_status()>& body) {
  return call_component(speaker, error, body);
}

}  // namespace loupe
