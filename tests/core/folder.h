#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "paths.h"

namespace loupe {

/// An empty folder for the running test only.
class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(LOUPE_TEST_FOLDER) / (std::string(test->test_suite_name()) + "." + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }

  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path(name);
  }
  /// Copies a test plugin into the folder.
  std::string add_plugin(const std::string& plugin, const std::string& name = "") const {
    const auto target = path_ / ((name.empty() ? plugin : name) + ".so");
    std::filesystem::create_directories(target.parent_path());
    std::filesystem::copy_file(std::filesystem::path(LOUPE_TEST_PLUGINS) / (plugin + ".so"), target);
    return target.string();
  }

 private:
  std::filesystem::path path_;
};

/// The path of a plugin that is built for these tests.
inline std::string test_plugin(const std::string& name) {
  return LOUPE_TEST_PLUGINS + "/" + name + ".so";
}

}  // namespace loupe
