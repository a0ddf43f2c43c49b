#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "loader/catalogue.h"

namespace loupe {

/// The components that an inspector made, with their plugins, and the drafts that these asked for. Any thread.
class LoadedComponents {
 public:
  void add(const CatalogueEntry& entry);
  /// @param plugin  the file; empty where it is part of the program
  void add_draft(const std::string& plugin, std::string_view draft);
  /// Hands all of it over as JSON, where something came since the last time. What throws is tried again next time.
  void tell_news(const std::function<void(const std::string&)>& tell);

 private:
  std::mutex mutex_;
  std::map<const PluginLibrary*, std::set<std::pair<Kind, std::string>>> made_;
  std::map<std::string, std::set<std::string, std::less<>>> drafts_;  // by file
  std::size_t told_ = 0;                                              // of both
};

}  // namespace loupe
