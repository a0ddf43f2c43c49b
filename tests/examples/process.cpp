#include "process.h"
#include "paths.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace loupe::test {

namespace fs = std::filesystem;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Finished run(const std::string& command, const fs::path& folder) {
  const std::string line = "cd '" + folder.string() + "' && { " + command + "; } 2>&1 </dev/null";
  std::FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start: " + line);
  Finished finished{};
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    finished.output.append(buffer, count);
  }
  const int status = pclose(pipe);
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

fs::path fresh_folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  std::replace(name.begin(), name.end(), '/', '-');
  const fs::path folder = fs::path(LOUPE_TEST_FOLDER) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

Recorded read_record(const fs::path& file) {
  Recorded recorded;
  std::ifstream stream(file);
  EXPECT_TRUE(stream) << "cannot read " << file;
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line);
    // Skip the numbers of single steps.
    if (json.at("kind") != "value" || !json.at("value").is_number() || json.value("step", 0) != 0) continue;
    recorded.values[json.at("tag")][json.at("layer")][json.at("line")][json.at("epoch")] = json.at("value");
  }
  return recorded;
}

std::set<std::string> Recorded::tags() const {
  std::set<std::string> names;
  for (const auto& [tag, layers] : values) names.insert(tag);
  return names;
}

std::set<std::string> Recorded::layers(const std::string& tag) const {
  std::set<std::string> names;
  const auto found = values.find(tag);
  if (found == values.end()) return names;
  for (const auto& [layer, lines] : found->second) names.insert(layer);
  return names;
}

}  // namespace loupe::test
