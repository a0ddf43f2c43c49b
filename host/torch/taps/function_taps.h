#pragma once

#include <cstdint>
#include <string>

#include "core/shared.h"

namespace at {
class Tensor;
}

namespace loupe {

struct FunctionKind;

/// The function that a type of LibTorch's modules does the same as, by the type's short name; null for others.
const FunctionKind* kind_of_module(const std::string& short_type);

/// The function that an operator of the dispatcher's is, by its name without the overload, as "aten::relu_"; null for
/// others.
LOUPE_SHARED const FunctionKind* kind_of_operator(const std::string& name);

/// Declares the functions that are tapped outside of modules, such as torch::relu, to the redirections; once.
void declare_function_taps();

/// Receives what a loss function was given and computed. Must not throw.
/// @param function  the operator's, as "aten::mse_loss"  @param place  the call's
using LossFunctionListener = void (*)(const at::Tensor& result, const at::Tensor& input, int64_t reduction,
                                      const char* function, const void* place);

/// Declares the taps of LibTorch's loss functions, which show what each is given to the model that ran last.
void declare_loss_function_taps();

/// Also passes results to this listener, for good. Before the taps are held.
LOUPE_SHARED void set_loss_function_listener(LossFunctionListener told);

}  // namespace loupe
