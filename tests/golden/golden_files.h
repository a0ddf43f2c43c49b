#ifndef LOUPE_TESTS_GOLDEN_FILES_H
#define LOUPE_TESTS_GOLDEN_FILES_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace loupe::testing {

/// The files named on the command line, or every PREFIX*.json of the folder in LOUPE_GOLDEN (default: the project's).
inline std::vector<std::string> golden_files(int argc, char** argv, const std::string& prefix) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (!files.empty()) return files;
  const char* named = std::getenv("LOUPE_GOLDEN");
  const std::filesystem::path folder = named != nullptr ? named : LOUPE_GOLDEN_FOLDER;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0 && entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw std::runtime_error("no " + prefix + "*.json in " + folder.string());
  return files;
}

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(stream);
}

}  // namespace loupe::testing

#endif
