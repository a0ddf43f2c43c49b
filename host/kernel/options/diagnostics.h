#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/shared.h"

namespace YAML {
class Node;
struct Mark;
}  // namespace YAML

namespace loupe {

/// The faults found in one configuration, each with its place in the file.
class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void error(const YAML::Mark& mark, const std::string& message);
  LOUPE_SHARED void error(const YAML::Node& node, const std::string& message);
  const std::string& file() const { return file_; }
  bool empty() const { return faults_.empty(); }
  /// All faults, one per line, in the order of the file; only the first fifty if there are more.
  std::string text() const;
  /// The messages without places, in one line: for values that come from no file.
  std::string messages() const;
  /// Throws ConfigError with text() unless empty.
  void throw_if_any() const;

 private:
  struct Fault {
    int line, column;
    std::string message;
  };
  std::vector<Fault> sorted() const;

  std::string file_;
  std::vector<Fault> faults_;
};

/// Describes a node, for a sentence: "'text'", "a list", "a map", "nothing".
std::string describe_node(const YAML::Node& node);

}  // namespace loupe
