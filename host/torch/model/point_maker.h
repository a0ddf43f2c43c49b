#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/shared.h"
#include "pipeline/monitor.h"
#include "torch/model/module_types.h"
#include "torch/model/tap_point.h"

namespace torch::nn {
class Module;
}

namespace loupe {

/// A module at its place in a model.
struct FoundModule {
  torch::nn::Module* module;
  std::string path;  ///< dotted; "" for the root
  bool is_leaf;      ///< its children are not visited
  /// The path where the same module was found first; nothing is below it here.
  bool is_repeated = false;
  std::string first_path;
};

/// Every module of a model, parents first; children down to `depth`, or all if it is negative.
std::vector<FoundModule> walk_model(torch::nn::Module& model, int depth);

/// The shown names of the modules of one attached model.
struct LayerNames {
  std::string model;      ///< the name that it was attached under; may be empty
  std::string root_type;  ///< the root's name if the model has none
  std::string separator;  ///< instead of the dots of a path

  /// The name for a dotted path; "" is the root.
  std::string of(const std::string& path) const;
  /// The name of the whole model.
  std::string root() const { return of(""); }
};

/// Warns once if two watched modules share a name.
void warn_of_equal_names(const Monitor& monitor);

/// Values that the trainer exposed by (module path, attribute).
using Exposed = std::map<std::pair<std::string, std::string>, std::function<at::Tensor()>>;

/// The module's own parameter or buffer of that name; undefined if it has none.
LOUPE_SHARED at::Tensor own_tensor(const torch::nn::Module& module, const std::string& name);

/// Makes the point by which taps find the streams of a module. Leaves the attachment's members to the attachment.
/// @param monitor  gets the module's node, which no lens sees yet  @param model  gets it too
/// @param parent  may be null
std::shared_ptr<TapPoint> make_point(Monitor& monitor, const std::shared_ptr<ModelNode>& model,
                                     const ModuleNode* parent, const FoundModule& found, const Visibility& visibility,
                                     const LayerNames& names, const Exposed& exposed, bool is_loss);
/// Adds the streams to it that lenses subscribed to.
void bind_point(TapPoint& point, const FoundModule& found, const Exposed& exposed);

/// Makes the point of a function seen for the first time after a module, and shows it to the lenses. `occurrence` is 0
/// for the first call.
std::shared_ptr<FunctionPoint> make_function_point(Monitor& monitor, const std::shared_ptr<ModelNode>& model,
                                                   const TapPoint& after, const FunctionKind& kind,
                                                   std::size_t occurrence);

}  // namespace loupe
