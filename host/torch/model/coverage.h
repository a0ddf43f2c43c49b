#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "loupe/finding.h"
#include "torch/model/module_types.h"
#include "torch/model/tap_point.h"

// Warnings, at a tick, about modules that no tap sees.

namespace loupe {

/// The path of the module that holds the one at `path`: "a" for "a.b", "" for "a".
std::string parent_of(const std::string& path);

/// Describes which parts of a model are tapped.
class Coverage {
 public:
  /// A module that was visited. `looked_into`: its children are visited too; `has_parameters`: its own or theirs.
  void add(const std::string& name, const std::string& type, const Visibility& visibility, bool looked_into,
           bool has_parameters);
  /// A module that occurs a second time in the model.
  void add_again(const std::string& name, const std::string& type, const std::string& first_name);

  /// One line per module.
  const std::vector<std::string>& lines() const { return lines_; }
  std::size_t tapped() const { return tapped_; }
  /// "3 of 4 modules tapped"
  std::string share() const;
  /// Whether every module that computes something is tapped for certain.
  bool is_whole() const { return tapped_ > 0 && untapped_.empty() && perhaps_ == 0; }
  /// The share, and further counts: "3 of 4 modules tapped, 1 container looked into"
  std::string counts() const;
  /// "; not tapped: …" for the first few, or nothing.
  std::string untapped() const;

 private:
  std::vector<std::string> lines_, untapped_;
  std::size_t tapped_ = 0, containers_ = 0, perhaps_ = 0;
};

/// At a tick: names in one line the tapped modules that were not seen although the modules around them ran, with the
/// remedy. Skips modules whose parent did not run. False while no module has run: call it again at the next tick.
/// @param points  of one model, the root first  @param model  its name as shown
bool tell_of_unseen(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model);

/// Modules added to a model after it was attached, for example a replaced layer: no tap sees them. Found only if the
/// model is owned by a shared_ptr, as in a ModuleHolder.
class LateModules {
 public:
  /// At a tick: names new modules since the last one, with the remedy.
  /// @param points  of one model, the root first  @param model  its name as shown
  void tell(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model);

 private:
  std::unordered_set<const torch::nn::Module*> told_;
};

/// Whether the model holds the module now, at any depth. Any thread that runs the model.
bool holds_by_now(const std::vector<std::shared_ptr<TapPoint>>& points, const torch::nn::Module& module);

/// Marks parameters that a LibTorch module has registered but its forward does not use, because the module's member of
/// that name was assigned another tensor: `head->weight = embedding->weight` ties no weights. Returns findings for
/// newly marked ones.
std::vector<Finding> find_left_parameters(const std::vector<std::shared_ptr<TapPoint>>& points);

}  // namespace loupe
