#include "loader/loaded_components.h"

#include <loupe/text/number_text.h>

#include <vector>

#include "core/text.h"
#include "loupe/version.h"

namespace loupe {
namespace {

std::string quoted(const std::string& text) {
  return json_text(utf8(text));
}

}  // namespace

void LoadedComponents::add(const CatalogueEntry& entry) {
  if (entry.library == nullptr || entry.library->plugin == nullptr) return;  // a component that a test made
  const std::lock_guard lock(mutex_);
  made_[entry.library].emplace(entry.kind, entry.component->name);
}

/// Lenses may ask at each step, so a repetition allocates nothing.
void LoadedComponents::add_draft(const std::string& plugin, std::string_view draft) {
  const std::lock_guard lock(mutex_);
  auto& drafts = drafts_[plugin];
  if (drafts.find(draft) == drafts.end()) drafts.emplace(draft);
}

void LoadedComponents::tell_news(const std::function<void(const std::string&)>& tell) {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [library, components] : made_) count += components.size();
  for (const auto& [plugin, drafts] : drafts_) count += drafts.size();
  if (told_ == count) return;
  std::map<std::string, std::string> plugins;  // in the order of their files
  for (const auto& [library, components] : made_) {
    std::vector<std::string> made, drafts;
    for (const auto& [kind, name] : components)
      made.push_back("{\"kind\": " + quoted(kind_name(kind)) + ", \"name\": " + quoted(name) + "}");
    for (const std::string& draft : drafts_[library->path]) drafts.push_back(quoted(draft));
    plugins[library->file] = " {\"file\": " + quoted(library->file) + ", \"name\": " + quoted(library->plugin->name) +
                             ", \"version\": " + quoted(library->plugin->version) +
                             ", \"abi\": " + quoted(version_text(library->abi_major, library->abi_minor)) +
                             ", \"components\": [" + join(made) + "], \"drafts\": [" + join(drafts) + "]}";
  }
  std::string all = "{\"loupe_version\": " + quoted(LOUPE_VERSION) +
                    ", \"abi\": " + quoted(version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR)) + ", \"plugins\": [";
  for (const auto& [file, plugin] : plugins) all += (file == plugins.begin()->first ? "\n" : ",\n") + plugin;
  tell(all + "]}\n");
  told_ = count;
}

}  // namespace loupe
