#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "folder.h"
#include "monitored.h"

namespace loupe {

inline std::string text_of(const std::filesystem::path& file) {
  wait_until_shown();
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}
inline std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  wait_until_shown();
  std::ifstream stream(file);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}
inline Texts folders_in(const std::filesystem::path& folder) {
  Texts names;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    if (each.is_directory()) names.push_back(each.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A run with a folder, one layer, and a lens that measures it.
struct Watched {
  explicit Watched(const std::string& run = "", const std::string& more = "")
      : it("run: {name: digits, dir: " + folder.path("run") + run + "}\nlenses: [probe_lens]\n" + more),
        layer(it.add("conv")) {}

  void step(float value = 1) {
    Monitored::forward(*layer, {value, value});
    it.monitor.note_step();
  }
  void find(const std::string& rule, uint32_t severity = LOUPE_SEVERITY_ERROR) {
    Finding finding{rule, severity, "it is wrong"};
    finding.layer = "conv";
    it.publish(finding);
  }
  std::filesystem::path path(const std::string& name) const { return std::filesystem::path(folder.path("run")) / name; }

  const Folder folder;
  Monitored it;
  std::shared_ptr<ModuleNode> layer;
};

}  // namespace loupe
