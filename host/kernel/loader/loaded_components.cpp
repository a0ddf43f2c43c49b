#include "loader/loaded_components.h"

#include <nlohmann/json.hpp>

#include "loupe/version.h"

namespace loupe {

void LoadedComponents::add(const CatalogueEntry& entry) {
  if (entry.library == nullptr || entry.library->plugin == nullptr) return;  // a test's own component
  const std::lock_guard lock(mutex_);
  made_[entry.library].emplace(entry.kind, entry.component->name);
}

/// Lenses may ask at each step, which allocates nothing the second time.
void LoadedComponents::add_draft(const std::string& plugin, std::string_view draft) {
  const std::lock_guard lock(mutex_);
  auto& drafts = drafts_[plugin];
  if (drafts.find(draft) == drafts.end()) drafts.emplace(draft);
}

void LoadedComponents::tell_news(const std::function<void(const std::string&)>& tell) {
  using Json = nlohmann::ordered_json;
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [library, components] : made_) count += components.size();
  for (const auto& [plugin, drafts] : drafts_) count += drafts.size();
  if (told_ == count) return;
  std::map<std::string, Json> plugins;  // in the order of their files
  for (const auto& [library, components] : made_) {
    Json plugin = {{"file", library->file},
                   {"name", library->plugin->name},
                   {"version", library->plugin->version},
                   {"abi", version_text(library->abi_major, library->abi_minor)},
                   {"components", Json::array()},
                   {"drafts", Json::array()}};
    for (const auto& [kind, name] : components)
      plugin["components"].push_back(Json{{"kind", kind_name(kind)}, {"name", name}});
    for (const std::string& draft : drafts_[library->path]) plugin["drafts"].push_back(draft);
    plugins[library->file] = std::move(plugin);
  }
  Json all = {{"loupe_version", LOUPE_VERSION},
              {"abi", version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR)},
              {"plugins", Json::array()}};
  for (auto& [file, plugin] : plugins) all["plugins"].push_back(std::move(plugin));
  tell(all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  told_ = count;
}

}  // namespace loupe
