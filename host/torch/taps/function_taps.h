#pragma once

#include <cstdint>
#include <string>

#include "core/shared.h"

namespace at {
class Tensor;
}

namespace loupe {

struct FunctionKind;

/// The function equivalent to a type of LibTorch's modules, by the type's short name; null for others.
const FunctionKind* kind_of_module(const std::string& short_type);

/// The function of a dispatcher's operator, by its name without the overload, such as "aten::relu_"; null for others.
LOUPE_SHARED const FunctionKind* kind_of_operator(const std::string& name);

/// Declares the functions that are tapped outside modules, such as torch::relu, to the redirections; once.
void declare_function_taps();

/// Receives the arguments and the result of a loss function. Must not throw.
/// @param function  the operator's, as "aten::mse_loss"  @param place  the call's
using LossFunctionListener = void (*)(const at::Tensor& result, const at::Tensor& input, int64_t reduction,
                                      const char* function, const void* place);

/// Declares the taps of LibTorch's loss functions, which show their arguments to the model that ran last.
void declare_loss_function_taps();

/// Passes results to this listener, too, permanently. Call it before the taps are held.
LOUPE_SHARED void set_loss_function_listener(LossFunctionListener told);

}  // namespace loupe
