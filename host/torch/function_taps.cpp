#include "torch/function_taps.h"

#include <ATen/Operators.h>

#include <type_traits>

#include "torch/forward_scope.h"
#include "torch/redirections.h"

namespace loupe {
namespace {

template <const FunctionKind& Kind, class Operator, class Signature = decltype(&Operator::call)>
struct FunctionTap;

template <const FunctionKind& Kind, class Operator, class Result, class Input, class... Arguments>
struct FunctionTap<Kind, Operator, Result (*)(Input, Arguments...)> {
  static Result tap(Input input, Arguments... arguments) {
    const bool seen = active_attachments.load(std::memory_order_relaxed) != 0 && thread_state().opaque == 0;
    if constexpr (std::is_reference_v<Result>) {
      Result result = Operator::call(input, std::forward<Arguments>(arguments)...);
      if (seen) function_called(Kind, at::Tensor(), result);  // in place: the input is gone
      return result;
    } else {
      Result result = Operator::call(input, std::forward<Arguments>(arguments)...);
      if (seen) function_called(Kind, input, result);
      return result;
    }
  }
};

template <const FunctionKind& Kind, class Operator>
void declare(bool everywhere) {
  Redirections::instance().declare(symbol_of(reinterpret_cast<const void*>(&Operator::call)),
                                   reinterpret_cast<void*>(&FunctionTap<Kind, Operator>::tap), everywhere);
}

int next_index = 0;
FunctionKind activation(const char* name) {
  return {name, LOUPE_FAMILY_ACTIVATION, next_index++};
}
FunctionKind dropout_kind(const char* name) {
  return {name, LOUPE_FAMILY_DROPOUT, next_index++};
}

// A function and its in-place form are one kind.
const FunctionKind relu = activation("relu");
const FunctionKind relu6 = activation("relu6");
const FunctionKind leaky_relu = activation("leaky_relu");
const FunctionKind elu = activation("elu");
const FunctionKind selu = activation("selu");
const FunctionKind celu = activation("celu");
const FunctionKind gelu = activation("gelu");
const FunctionKind silu = activation("silu");
const FunctionKind mish = activation("mish");
const FunctionKind sigmoid = activation("sigmoid");
const FunctionKind tanh = activation("tanh");
const FunctionKind softplus = activation("softplus");
const FunctionKind softshrink = activation("softshrink");
const FunctionKind hardshrink = activation("hardshrink");
const FunctionKind hardtanh = activation("hardtanh");
const FunctionKind hardswish = activation("hardswish");
const FunctionKind hardsigmoid = activation("hardsigmoid");
const FunctionKind prelu = activation("prelu");
const FunctionKind rrelu = activation("rrelu");
const FunctionKind glu = activation("glu");
const FunctionKind log_sigmoid = activation("log_sigmoid");
const FunctionKind softmax = activation("softmax");
const FunctionKind log_softmax = activation("log_softmax");
const FunctionKind threshold = activation("threshold");
const FunctionKind dropout = dropout_kind("dropout");
const FunctionKind feature_dropout = dropout_kind("feature_dropout");
const FunctionKind alpha_dropout = dropout_kind("alpha_dropout");

}  // namespace

void declare_function_taps() {
  namespace ops = at::_ops;
  // LibTorch itself calls these two as a transformer layer's activation; others it also calls inside losses and cells.
  declare<relu, ops::relu>(true);
  declare<gelu, ops::gelu>(true);
  declare<relu, ops::relu_>(false);
  declare<relu6, ops::relu6>(false);
  declare<leaky_relu, ops::leaky_relu>(false);
  declare<leaky_relu, ops::leaky_relu_>(false);
  declare<elu, ops::elu>(false);
  declare<elu, ops::elu_>(false);
  declare<selu, ops::selu>(false);
  declare<selu, ops::selu_>(false);
  declare<celu, ops::celu>(false);
  declare<celu, ops::celu_>(false);
  declare<silu, ops::silu>(false);
  declare<silu, ops::silu_>(false);
  declare<mish, ops::mish>(false);
  declare<mish, ops::mish_>(false);
  declare<sigmoid, ops::sigmoid>(false);
  declare<sigmoid, ops::sigmoid_>(false);
  declare<tanh, ops::tanh>(false);
  declare<tanh, ops::tanh_>(false);
  declare<softplus, ops::softplus>(false);
  declare<softshrink, ops::softshrink>(false);
  declare<hardshrink, ops::hardshrink>(false);
  declare<hardtanh, ops::hardtanh>(false);
  declare<hardtanh, ops::hardtanh_>(false);
  declare<hardswish, ops::hardswish>(false);
  declare<hardsigmoid, ops::hardsigmoid>(false);
  declare<prelu, ops::prelu>(false);
  declare<rrelu, ops::rrelu>(false);
  declare<glu, ops::glu>(false);
  declare<log_sigmoid, ops::log_sigmoid>(false);
  declare<softmax, ops::softmax_int>(false);
  declare<log_softmax, ops::log_softmax_int>(false);
  declare<threshold, ops::threshold>(false);
  declare<threshold, ops::threshold_>(false);
  declare<dropout, ops::dropout>(false);
  declare<dropout, ops::dropout_>(false);
  declare<feature_dropout, ops::feature_dropout>(false);
  declare<alpha_dropout, ops::alpha_dropout>(false);
}

}  // namespace loupe
