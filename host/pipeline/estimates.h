#ifndef LOUPE_PIPELINE_ESTIMATES_H
#define LOUPE_PIPELINE_ESTIMATES_H

#include <memory>
#include <string>
#include <vector>

#include "pipeline/module_node.h"

namespace loupe {

/// Of which parameters of a model only a sample is compared with earlier steps, as a sentence; empty without any.
std::string estimate_words(const std::vector<std::shared_ptr<ModuleNode>>& modules);

}  // namespace loupe

#endif
