#pragma once

#include <memory>
#include <vector>

#include "loupe/finding.h"
#include "torch/model/tap_point.h"

namespace loupe {

/// Marks parameters that a module of LibTorch's has registered, and that its forward does not use, as the module's
/// member of that name was assigned another tensor since: `head->weight = embedding->weight` ties no weights. Returns
/// what is to be said of those that were not marked before.
std::vector<Finding> find_left_parameters(const std::vector<std::shared_ptr<TapPoint>>& points);

}  // namespace loupe
