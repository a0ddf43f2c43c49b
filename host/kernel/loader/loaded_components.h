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

/// The components that an inspector created, with their plugins and requested drafts. Any thread.
class LoadedComponents {
 public:
  void add(const CatalogueEntry& entry);
  /// @param plugin  the file; empty if it is part of the program
  void add_draft(const std::string& plugin, std::string_view draft);
  /// Passes everything on as JSON, if something is new. After an exception it tries again next time.
  void tell_news(const std::function<void(const std::string&)>& tell);

 private:
  std::mutex mutex_;
  std::map<const PluginLibrary*, std::set<std::pair<Kind, std::string>>> made_;
  std::map<std::string, std::set<std::string, std::less<>>> drafts_;  // ids of drafts, by file
  std::size_t told_ = 0;                                              // the size of both at the last call
};

}  // namespace loupe
