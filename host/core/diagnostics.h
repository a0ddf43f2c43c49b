#ifndef LOUPE_CORE_DIAGNOSTICS_H
#define LOUPE_CORE_DIAGNOSTICS_H

#include <yaml-cpp/yaml.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// The faults found in one configuration, each with its place in the file.
class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void error(const YAML::Mark& mark, const std::string& message);
  void error(const YAML::Node& node, const std::string& message) { error(node.Mark(), message); }
  bool empty() const { return lines_.empty(); }
  /// All of them, a line each, in the order of the file.
  std::string text() const;
  /// Throws ConfigError with text() unless empty.
  void throw_if_any() const;

 private:
  std::string file_;
  std::vector<std::pair<std::pair<int, int>, std::string>> lines_;
};

}  // namespace loupe

#endif
