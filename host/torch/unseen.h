#ifndef LOUPE_TORCH_UNSEEN_H
#define LOUPE_TORCH_UNSEEN_H

#include <memory>
#include <string>
#include <vector>

#include "torch/tap_point.h"

namespace loupe {

/// At a tick: names in one line the modules that are called tapped and were not seen though the modules around them
/// ran, with the remedy. Nothing of modules whose parent did not run either. False while no module ran at all: ask
/// again at the next tick.
/// @param points  of one model, the root first  @param model  its name as shown
bool tell_of_unseen(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model);

}  // namespace loupe

#endif
