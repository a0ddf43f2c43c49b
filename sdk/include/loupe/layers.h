#pragma once

#include <loupe/lens.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// A stream that a lens watches, and the name it is shown under.
struct Layer {
  Layer(const Module& module, Source source_) : Layer(module, source_, module.name()) {}
  /// @param name_ if the module's own name would be ambiguous
  Layer(const Module& module_, Source source_, std::string name_)
      : id(module_.id()), module(module_), name(std::move(name_)), source(source_) {}
  uint64_t id;
  const loupe_module* module;
  std::string name;
  Source source;
};

using Layers = std::vector<Layer>;

/// Drops the layers of a detached module.
inline void forget(Layers& layers, const Module& module) {
  const auto gone = [&](const Layer& layer) { return layer.id == module.id(); };
  layers.erase(std::remove_if(layers.begin(), layers.end(), gone), layers.end());
}

}  // namespace v1_0
}  // namespace loupe
