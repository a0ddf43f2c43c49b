#pragma once

#include <memory>

#include "pipeline/monitor.h"
#include "torch/model/layer_names.h"
#include "torch/model/model_walk.h"
#include "torch/model/module_types.h"
#include "torch/model/tap_point.h"
#include "torch/tensor/attribute_reader.h"

namespace loupe {

/// The LOUPE_PARAMETER_ bits that a tensor tells by itself.
uint32_t parameter_flags(const at::Tensor& tensor, bool is_buffer);

/// Makes the point where taps find what is watched of a module. The attachment's own members are left to it.
/// @param monitor  gets the module's node, which no lens sees yet  @param model  gets it too
/// @param parent  may be null
std::shared_ptr<TapPoint> make_point(Monitor& monitor, const std::shared_ptr<ModelNode>& model,
                                     const ModuleNode* parent, const FoundModule& found, const Reach& reach,
                                     const LayerNames& names, const Exposed& exposed, bool is_loss);
/// Puts the streams into it that lenses subscribed to.
void bind_point(TapPoint& point, const FoundModule& found, const Exposed& exposed);

/// Makes the point of a function seen for the first time after a module, and shows it to the lenses. `occurrence` is 0
/// for the first call.
std::shared_ptr<FunctionPoint> make_function_point(Monitor& monitor, const std::shared_ptr<ModelNode>& model,
                                                   const TapPoint& after, const FunctionKind& kind,
                                                   std::size_t occurrence);

}  // namespace loupe
