#include "torch/taps/function_taps.h"

#include <loupe/draft/abi/flags.h>

#include <ATen/Operators.h>

#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "torch/redirect/redirections.h"
#include "torch/redirect/symbol_names.h"
#include "torch/taps/forward_scope.h"
#include "torch/taps/function_list.h"

namespace loupe {
namespace {

/// Whether a call works as an activation. Clamping does where it cuts off what is negative, as ReLU does.
template <class Operator>
struct Activates {
  template <class... Arguments>
  static bool with(const Arguments&...) {
    return true;
  }
};
bool is_zero(const at::Scalar& bound) {
  return !bound.isComplex() && bound.to<double>() == 0;
}
struct ClampActivates {
  template <class Scalars>
  static bool with(const Scalars& minimum, const Scalars&) {
    return minimum.has_value() && is_zero(*minimum);
  }
  static bool with(const at::Scalar& minimum) { return is_zero(minimum); }
};
template <>
struct Activates<at::_ops::clamp> : ClampActivates {};
template <>
struct Activates<at::_ops::clamp_> : ClampActivates {};
template <>
struct Activates<at::_ops::clamp_min> : ClampActivates {};
template <>
struct Activates<at::_ops::clamp_min_> : ClampActivates {};

/// Whether a dropout was told to drop; nothing else takes a probability and whether it trains.
template <class... Arguments>
uint32_t dropout_flags(const Arguments&...) {
  return 0;
}
template <>
uint32_t dropout_flags(const double& probability, const bool& train) {
  return train && probability > 0 ? uint32_t{LOUPE_DRAFT_EVENT_DROPS} : 0U;
}

template <const FunctionKind& Kind, class Operator, class Signature = decltype(&Operator::call)>
struct FunctionTap;

template <const FunctionKind& Kind, class Operator, class Result, class Input, class... Arguments>
struct FunctionTap<Kind, Operator, Result (*)(Input, Arguments...)> {
  static Result tap(Input input, Arguments... arguments) {
    const bool seen = active_attachments.load(std::memory_order_relaxed) != 0 && thread_state().opaque == 0 &&
                      Activates<Operator>::with(arguments...);
    const CallSite site = LOUPE_CALL_SITE;
    const uint32_t flags = dropout_flags(arguments...);
    if constexpr (std::is_reference_v<Result>) {
      Result result = Operator::call(input, std::forward<Arguments>(arguments)...);
      if (seen) function_called(Kind, at::Tensor(), result, site, flags);  // in place: the input is gone
      return result;
    } else {
      Result result = Operator::call(input, std::forward<Arguments>(arguments)...);
      if (seen) function_called(Kind, input, result, site, flags);
      return result;
    }
  }
};

template <const FunctionKind& Kind, class Operator>
void declare(bool everywhere) {
  Redirections::instance().declare(symbol_of(reinterpret_cast<const void*>(&Operator::call)),
                                   reinterpret_cast<void*>(&FunctionTap<Kind, Operator>::tap), everywhere);
}

int take_index() {
  static int next = 0;
  if (next == max_functions) throw std::logic_error("there are more kinds of functions than max_functions");
  return next++;
}
FunctionKind activation(const char* name) {
  return {name, LOUPE_FAMILY_ACTIVATION, take_index()};
}
FunctionKind dropout_kind(const char* name) {
  return {name, LOUPE_FAMILY_DROPOUT, take_index()};
}

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
const FunctionKind softsign = activation("softsign");
const FunctionKind clamp = activation("clamp");
const FunctionKind clamp_min = activation("clamp_min");
const FunctionKind maximum = activation("maximum");
const FunctionKind dropout = dropout_kind("dropout");
const FunctionKind feature_dropout = dropout_kind("feature_dropout");
const FunctionKind alpha_dropout = dropout_kind("alpha_dropout");

}  // namespace

const FunctionKind* kind_of_module(const std::string& short_type) {
  static const auto& kinds = *new std::unordered_map<std::string, const FunctionKind*>{
      {"ReLU", &relu},
      {"ReLU6", &relu6},
      {"LeakyReLU", &leaky_relu},
      {"ELU", &elu},
      {"SELU", &selu},
      {"CELU", &celu},
      {"GELU", &gelu},
      {"SiLU", &silu},
      {"Mish", &mish},
      {"Sigmoid", &sigmoid},
      {"Tanh", &tanh},
      {"Softplus", &softplus},
      {"Softsign", &softsign},
      {"Softshrink", &softshrink},
      {"Hardshrink", &hardshrink},
      {"Hardtanh", &hardtanh},
      {"RReLU", &rrelu},
      {"GLU", &glu},
      {"LogSigmoid", &log_sigmoid},
      {"Softmax", &softmax},
      {"Softmax2d", &softmax},
      {"LogSoftmax", &log_softmax},
      {"Threshold", &threshold},
      {"Dropout", &dropout},
      {"Dropout2d", &feature_dropout},
      {"Dropout3d", &feature_dropout},
      {"AlphaDropout", &alpha_dropout},
      {"FeatureAlphaDropout", &alpha_dropout},
  };
  const auto found = kinds.find(short_type);
  return found != kinds.end() ? found->second : nullptr;
}

const FunctionKind* kind_of_operator(const std::string& name) {
  static const auto& kinds = *new const std::unordered_map<std::string, const FunctionKind*>([] {
    std::unordered_map<std::string, const FunctionKind*> map;
#define LOUPE_ONE(KIND, OPERATOR) map.emplace(at::_ops::OPERATOR::name, &KIND);
    LOUPE_FUNCTIONS_EVERYWHERE(LOUPE_ONE)
    LOUPE_FUNCTIONS(LOUPE_ONE)
#undef LOUPE_ONE
    map.erase("aten::max");  // by its name also the maximum of all elements
    return map;
  }());
  const auto found = kinds.find(name);
  return found != kinds.end() ? found->second : nullptr;
}

void declare_function_taps() {
#define LOUPE_EVERYWHERE(KIND, OPERATOR) declare<KIND, at::_ops::OPERATOR>(true);
#define LOUPE_OUTSIDE(KIND, OPERATOR) declare<KIND, at::_ops::OPERATOR>(false);
  LOUPE_FUNCTIONS_EVERYWHERE(LOUPE_EVERYWHERE)
  LOUPE_FUNCTIONS(LOUPE_OUTSIDE)
}

}  // namespace loupe
