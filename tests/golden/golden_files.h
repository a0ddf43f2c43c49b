#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "paths.h"

namespace loupe::testing {

/// The files of the command line, or all PREFIX*.json of the folder LOUPE_GOLDEN (default: the project's folder).
inline std::vector<std::string> golden_files(int argc, char** argv, const std::string& prefix) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (!files.empty()) return files;
  const char* named = std::getenv("LOUPE_GOLDEN");
  const std::filesystem::path folder = named != nullptr ? named : LOUPE_GOLDEN_FOLDER;
  if (!std::filesystem::is_directory(folder)) throw std::runtime_error("no folder '" + folder.string() + "'");
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
  if (!stream || std::filesystem::is_directory(path)) throw std::runtime_error("the file cannot be read");
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  // The original names the plots of the worst layer differently.
  const std::string theirs = "\"Warning ", ours = "\"Worst ";
  for (std::size_t at = 0; (at = text.find(theirs, at)) != std::string::npos; at += ours.size())
    text.replace(at, theirs.size(), ours);
  return nlohmann::json::parse(text);
}

/// Throws if the number of values of a golden tensor does not fit its shape.
inline void check_tensor(const nlohmann::json& golden) {
  std::size_t count = 1;
  for (const auto& size : golden.at("shape")) count *= size.get<std::size_t>();
  if (golden.at("data").size() != count)
    throw std::runtime_error("a tensor has " + std::to_string(golden["data"].size()) + " numbers, and its shape says " +
                             std::to_string(count));
}

/// Registers the tests of every golden file with `add(suite, golden)`, which returns their number, and runs them. A
/// file without tests is an error, as it would always pass.
template <class Add>
int run_golden(int argc, char** argv, const std::string& prefix, Add&& add) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string file = "golden files";
  try {
    for (const std::string& each : golden_files(argc, argv, prefix)) {
      file = each;
      if (add(std::filesystem::path(file).stem().string(), read_json(file)) == 0)
        throw std::runtime_error("the file has no tests");
    }
  } catch (const std::exception& error) {
    std::cerr << file << ": " << error.what() << '\n';
    return 1;
  }
  return RUN_ALL_TESTS();
}

}  // namespace loupe::testing
