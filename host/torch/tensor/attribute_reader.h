#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace torch::nn {
class Module;
}

namespace loupe {

/// Values that the trainer exposed by (module path, attribute).
using Exposed = std::map<std::pair<std::string, std::string>, std::function<at::Tensor()>>;

/// What reads the value that `label` names in a module: exposed, a parameter or a buffer; dotted labels lead through
/// children. Null where there is none. It keeps no parameter alive and gives an undefined tensor once that is gone.
std::function<at::Tensor()> attribute_reader(torch::nn::Module& module, const std::string& path,
                                             const std::string& label, const Exposed& exposed);

}  // namespace loupe
