#pragma once

#include <string>
#include <vector>

#include "torch/model/module_types.h"

namespace loupe {

/// What of a model is tapped and what is not, in words.
class Coverage {
 public:
  /// A module that was visited. `looked_into`: its children are visited too; `has_parameters`: its own or theirs.
  void add(const std::string& name, const std::string& type, const Reach& reach, bool looked_into, bool has_parameters);
  /// A module that stands at a second place of the model.
  void add_again(const std::string& name, const std::string& type, const std::string& first_name);

  /// One line a module.
  const std::vector<std::string>& lines() const { return lines_; }
  std::size_t tapped() const { return tapped_; }
  /// "3 of 4 modules tapped"
  std::string share() const;
  /// Whether every module that computes something is tapped for certain.
  bool is_whole() const { return tapped_ > 0 && untapped_.empty() && perhaps_ == 0; }
  /// The share, and what else there is: "3 of 4 modules tapped, 1 container looked into"
  std::string counts() const;
  /// "; not tapped: …" for the first few, or nothing.
  std::string untapped() const;

 private:
  std::vector<std::string> lines_, untapped_;
  std::size_t tapped_ = 0, containers_ = 0, perhaps_ = 0;
};

}  // namespace loupe
