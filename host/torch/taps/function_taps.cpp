#include "torch/taps/function_taps.h"

#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/core/Reduction.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <torch/csrc/autograd/function.h>

#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>

#include "torch/redirect/redirections.h"
#include "torch/taps/early_clips.h"
#include "torch/taps/forward_pass.h"
#include "torch/taps/forward_scope.h"
#include "torch/taps/tap_lists.h"

namespace loupe {
namespace {

bool is_zero(const at::Scalar& bound) {
  return !bound.isComplex() && bound.to<double>() == 0;
}
bool cuts_negative(const at::Scalar& minimum) {
  return is_zero(minimum);
}
template <class Scalars>
bool cuts_negative(const Scalars& minimum, const Scalars&) {
  return minimum.has_value() && is_zero(*minimum);
}
template <class Operator, class... Others>
constexpr bool is_any_of = (std::is_same_v<Operator, Others> || ...);
/// Whether a call works as an activation. Clamping does if it cuts off negative values, as ReLU does.
template <class Operator, class... Arguments>
bool activates(const Arguments&... arguments) {
  if constexpr (is_any_of<Operator, at::_ops::clamp, at::_ops::clamp_, at::_ops::clamp_min, at::_ops::clamp_min_>)
    return cuts_negative(arguments...);
  return true;
}

/// Whether a dropout drops; only dropouts take a probability and a training flag.
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
                      activates<Operator>(arguments...);
    const CallSite site = LOUPE_CALL_SITE;
    const uint32_t flags = dropout_flags(arguments...);
    if constexpr (std::is_same_v<Operator, at::_ops::clamp_>) note_clipped(input);
    if constexpr (std::is_reference_v<Result>) {
      Result result = Operator::call(input, std::forward<Arguments>(arguments)...);
      if (seen) function_called(Kind, at::Tensor(), result, site, flags);  // in place: the input was overwritten
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
  declare_tap(&Operator::call, &FunctionTap<Kind, Operator>::tap, everywhere);
}

int take_index() {
  static int next = 0;
  if (next == max_functions) throw std::logic_error("there are more kinds of functions than max_functions");
  return next++;
}

#define LOUPE_ACTIVATION(KIND) const FunctionKind KIND = {#KIND, LOUPE_FAMILY_ACTIVATION, take_index()};
#define LOUPE_DROPOUT(KIND) const FunctionKind KIND = {#KIND, LOUPE_FAMILY_DROPOUT, take_index()};
LOUPE_ACTIVATIONS(LOUPE_ACTIVATION)
LOUPE_DROPOUTS(LOUPE_DROPOUT)

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
    map.erase("aten::max");  // this name also means the maximum of all elements
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

namespace {

LossFunctionListener told_of_losses = nullptr;
thread_local int losses_running = 0;  // one loss function may call another

/// Identifies the maker by the type of its node, because name() allocates.
uint32_t maker_of(const at::Tensor& input) {
  const auto& node = input.grad_fn();
  if (node == nullptr) return 0;
  const auto& made = *node;
  const char* type = typeid(made).name();
  const auto is = [&](const char* name) { return std::strstr(type, name) != nullptr; };
  if (is("LogSoftmaxBackward")) return LOUPE_DRAFT_LOSS_MADE_BY_LOG_SOFTMAX;
  if (is("SoftmaxBackward")) return LOUPE_DRAFT_LOSS_MADE_BY_SOFTMAX;
  if (is("16SigmoidBackward0")) return LOUPE_DRAFT_LOSS_MADE_BY_SIGMOID;
  if (is("13TanhBackward0")) return LOUPE_DRAFT_LOSS_MADE_BY_TANH;
  if (is("13ReluBackward0")) return LOUPE_DRAFT_LOSS_MADE_BY_RELU;
  return 0;
}

/// Reads the arguments after the target of a loss over classes: whether there are weights, or an index to ignore.
template <class Weight, class Index, class... Rest>
uint32_t choice_of(const Weight& weight, int64_t /*reduction*/, const Index& ignored, const Rest&...) {
  int64_t index = 0;
  if constexpr (std::is_same_v<Index, int64_t>) {
    index = ignored;
  } else {
    index = ignored.as_int_unchecked();
  }
  const bool chooses = (weight.has_value() && weight->defined()) || index >= 0;  // the default is -100
  return chooses ? uint32_t{LOUPE_DRAFT_LOSS_CHOOSES_TARGETS} : 0U;
}

/// @tparam Function  LOUPE_DRAFT_LOSS_ bits, or 0 for one whose input is not shown
template <uint32_t Function, class... Rest>
void show_input(const at::Tensor& input, const at::Tensor& target, const Rest&... rest) {
  const bool is_watched = active_attachments.load(std::memory_order_relaxed) != 0;
  if (Function == 0 || !is_watched || !input.defined() || !target.defined()) return;
  if (thread_state().last_model == nullptr) return;
  const bool is_swapped = target.requires_grad() && !input.requires_grad();
  const uint32_t swapped = is_swapped ? uint32_t{LOUPE_DRAFT_LOSS_TARGET_ALONE_HAS_GRADIENT} : 0U;
  uint32_t choice = 0;
  if constexpr (Function == LOUPE_DRAFT_LOSS_CROSS_ENTROPY || Function == LOUPE_DRAFT_LOSS_NLL)
    choice = choice_of(rest...);
  loss_called(input, target, Function | maker_of(input) | swapped | choice);
}

template <class First, class... Rest>
int64_t reduction_of(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, int64_t>) {
    return first;
  } else if constexpr (sizeof...(rest) > 0) {
    return reduction_of(rest...);
  } else {
    return at::Reduction::Mean;
  }
}

template <uint32_t Function, bool IsLoss, class Operator, class Signature = decltype(&Operator::call)>
struct LossTap;
template <uint32_t Function, bool IsLoss, class Operator, class... Arguments>
struct LossTap<Function, IsLoss, Operator, at::Tensor (*)(const at::Tensor&, Arguments...)> {
  struct Running {
    Running() { ++losses_running; }
    ~Running() { --losses_running; }
  };
  static at::Tensor tap(const at::Tensor& input, Arguments... arguments) {
    const bool is_outermost = losses_running == 0;
    if (is_outermost) show_input<Function>(input, arguments...);
    const int64_t reduction = reduction_of(arguments...);
    at::Tensor result = [&] {
      const Running running;
      return Operator::call(input, std::forward<Arguments>(arguments)...);
    }();
    if (IsLoss && is_outermost && told_of_losses != nullptr)
      told_of_losses(result, input, reduction, Operator::name, __builtin_return_address(0));
    return result;
  }
};

/// Declares the tap of a loss, also for calls by LibTorch's own modules.
/// @tparam IsLoss  its result may be the loss itself
template <class Operator, uint32_t Function = 0, bool IsLoss = true>
void declare() {
  declare_tap(&Operator::call, &LossTap<Function, IsLoss, Operator>::tap, /*everywhere=*/true);
}

}  // namespace

void declare_loss_function_taps() {
  using namespace at::_ops;
  declare<cross_entropy_loss, LOUPE_DRAFT_LOSS_CROSS_ENTROPY>();
  declare<nll_loss, LOUPE_DRAFT_LOSS_NLL>();
  declare<nll_loss_nd, LOUPE_DRAFT_LOSS_NLL>();
  declare<nll_loss2d, LOUPE_DRAFT_LOSS_NLL>();
  declare<mse_loss, LOUPE_DRAFT_LOSS_MSE>();
  declare<l1_loss, LOUPE_DRAFT_LOSS_L1>();
  declare<smooth_l1_loss, LOUPE_DRAFT_LOSS_SMOOTH_L1>();
  declare<huber_loss, LOUPE_DRAFT_LOSS_HUBER>();
  declare<binary_cross_entropy, LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY>();
  declare<binary_cross_entropy_with_logits, LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY_WITH_LOGITS>();
  declare<kl_div, LOUPE_DRAFT_LOSS_KL_DIV>();
  declare<cosine_embedding_loss, LOUPE_DRAFT_LOSS_LIKENESS>();
  declare<cosine_similarity, LOUPE_DRAFT_LOSS_LIKENESS, /*IsLoss=*/false>();
  declare<pairwise_distance, LOUPE_DRAFT_LOSS_LIKENESS, /*IsLoss=*/false>();
  declare<hinge_embedding_loss>();
  declare<margin_ranking_loss>();
  declare<multi_margin_loss>();
  declare<multilabel_margin_loss>();
  declare<poisson_nll_loss>();
  declare<soft_margin_loss>();
  declare<triplet_margin_loss, LOUPE_DRAFT_LOSS_LIKENESS>();
}

void set_loss_function_listener(LossFunctionListener told) {
  told_of_losses = told;
}

}  // namespace loupe
