#pragma once

#include <loupe/abi.h>
#include <loupe/text/number_text.h>

#include <string>

namespace loupe {
inline namespace v1_0 {

/// A model as a JSON object: name, type, parameters (the number of elements), and modules, each with name, type,
/// parameters, the shapes of its own parameters in their order, and whether it is a leaf.
inline std::string model_json(const loupe_model& model) {
  const auto quoted = [](const char* text) { return json_text(text != nullptr ? text : ""); };
  std::string json = "{\"name\":" + quoted(model.name) + ",\"type\":" + quoted(model.type) +
                     ",\"parameters\":" + std::to_string(model.parameter_element_count) + ",\"modules\":[";
  for (std::size_t i = 0; i < model.module_count; ++i) {
    const loupe_module& module = *model.modules[i];
    int64_t elements = 0;
    std::string shapes;
    for (std::size_t j = 0; j < module.parameter_count; ++j) {
      const loupe_parameter& parameter = *module.parameters[j];
      if ((parameter.flags & LOUPE_PARAMETER_BUFFER) != 0) continue;
      elements += parameter.numel;
      shapes += shapes.empty() ? "[" : ",[";
      for (int64_t k = 0; k < parameter.dim; ++k) shapes += (k > 0 ? "," : "") + std::to_string(parameter.sizes[k]);
      shapes += ']';
    }
    json += (i > 0 ? ",{\"name\":" : "{\"name\":") + quoted(module.name) + ",\"type\":" + quoted(module.type) +
            ",\"parameters\":" + std::to_string(elements) + ",\"shapes\":[" + shapes +
            "],\"leaf\":" + ((module.flags & LOUPE_MODULE_LEAF) != 0 ? "true" : "false") + "}";
  }
  return json + "]}";
}

}  // namespace v1_0
}  // namespace loupe
