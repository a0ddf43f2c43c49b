#pragma once

#include <string>

namespace loupe {

struct FunctionKind;

/// The function that a type of LibTorch's modules does the same as, by the type's short name; null for others.
const FunctionKind* kind_of_module(const std::string& short_type);

/// The function that an operator of the dispatcher's is, by its name without the overload, as "aten::relu_"; null for
/// others.
const FunctionKind* kind_of_operator(const std::string& name);

/// Declares the functions that are tapped outside of modules, such as torch::relu, to the redirections; once.
void declare_function_taps();

}  // namespace loupe
