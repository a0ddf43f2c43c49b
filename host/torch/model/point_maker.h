#ifndef LOUPE_TORCH_MODEL_POINT_MAKER_H
#define LOUPE_TORCH_MODEL_POINT_MAKER_H

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

/// Describes a module to the lenses, and makes the point where taps find the streams that they subscribed to. The
/// attachment's own members are left to it.
/// @param monitor  gets the module's node
std::shared_ptr<TapPoint> make_point(Monitor& monitor, const FoundModule& found, const Reach& reach,
                                     const LayerNames& names, const Exposed& exposed, bool is_loss);

/// The same for a function seen for the first time after a module. `occurrence` is 0 for the first call.
std::shared_ptr<FunctionPoint> make_function_point(Monitor& monitor, const TapPoint& after, const FunctionKind& kind,
                                                   std::size_t occurrence);

}  // namespace loupe

#endif
