// Queries of autograd's graph: the leaves on which a tensor depends, and the function that made its NaN or Inf.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <loupe/text/number_text.h>
#include <loupe/text/rows_text.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/generated/Functions.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "services/services.h"
#include "torch/tensor/compat.h"
#include "torch/tensor/loss_in_view.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

using torch::autograd::AccumulateGrad;
using Function = torch::autograd::Node;

loupe_status lend_leaves(void*, const loupe_tensor* tensor, loupe_draft_take_leaf take, void* context,
                         loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::Tensor& native = native_tensor(tensor);
    std::unordered_set<const Function*> met;
    std::vector<Function*> waiting;
    const auto meet = [&](Function* node) {
      if (node != nullptr && met.insert(node).second) waiting.push_back(node);
    };
    meet(native.grad_fn().get());
    while (!waiting.empty()) {
      Function* node = waiting.back();
      waiting.pop_back();
      const auto* leaf = dynamic_cast<const AccumulateGrad*>(node);
      if (leaf != nullptr && leaf->variable.has_storage()) take(context, const_data(leaf->variable));
      for (const auto& edge : node->next_edges()) meet(edge.function.get());
    }
  });
}

/// The tensors that a function saved for its backward pass; undefined if it saved none, or backward() has freed them.
struct Kept {
  std::array<at::Tensor, 2> inputs;  ///< in the order of its edges
  at::Tensor result;
  at::Tensor recomputed;  ///< the result, computed from the saved tensors
  std::optional<double> exponent;
  bool is_freed = false;
};

/// Reads a saved tensor. After an in-place operation on it, unpacking throws, as after backward().
at::Tensor read_kept(const torch::autograd::SavedVariable& saved, const NodeHandle& node, Kept& kept) {
  try {
    const at::Tensor value = saved.unpack(node);
    const bool is_readable = value.defined() && value.layout() == at::kStrided && !value.is_complex();
    return is_readable ? value.detach() : at::Tensor();
  } catch (const std::exception&) {
    kept.is_freed = true;
    return {};
  }
}

template <class Type>
bool read_as(const NodeHandle& node, Kept& kept) {
  const auto* function = dynamic_cast<const Type*>(node.get());
  if (function == nullptr) return false;
  if constexpr (requires { function->self_; }) kept.inputs[0] = read_kept(function->self_, node, kept);
  if constexpr (requires { function->other_; }) kept.inputs[1] = read_kept(function->other_, node, kept);
  if constexpr (requires { function->target_; }) kept.inputs[1] = read_kept(function->target_, node, kept);
  if constexpr (requires { function->result_; }) kept.result = read_kept(function->result_, node, kept);
  if constexpr (requires { function->exponent; }) {
    if (!function->exponent.isComplex()) kept.exponent = function->exponent.template to<double>();
    if (kept.exponent && kept.inputs[0].defined()) kept.recomputed = at::pow(kept.inputs[0], *kept.exponent);
  }
  return true;
}

template <class... Types>
Kept read_any_of(const NodeHandle& node) {
  Kept kept;
  [[maybe_unused]] const bool is_known = (read_as<Types>(node, kept) || ...);
  return kept;
}

Kept kept_by(const NodeHandle& node) {
  using namespace torch::autograd::generated;
  return read_any_of<LogBackward0, Log2Backward0, Log10Backward0, Log1PBackward0, DivBackward0, MulBackward0,
                     SqrtBackward0, RsqrtBackward0, ReciprocalBackward0, PowBackward0, ExpBackward0, Expm1Backward0,
                     StdBackward0, VarBackward0, SoftmaxBackward0, LogSoftmaxBackward0, LinalgVectorNormBackward0,
                     NormBackward0, AcosBackward0, AsinBackward0, AtanhBackward0, LogsumexpBackward0, MseLossBackward0,
                     SmoothL1LossBackward0, HuberLossBackward0, AbsBackward0, ReluBackward0, SigmoidBackward0,
                     TanhBackward0, BinaryCrossEntropyBackward0, BinaryCrossEntropyWithLogitsBackward0>(node);
}

bool has_name(const std::string& name, std::initializer_list<std::string_view> names) {
  for (const std::string_view each : names) {
    if (std::string_view(name).substr(0, name.find("Backward")) == each) return true;
  }
  return false;
}

bool is_bad(const at::Tensor& tensor) {
  return tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>();
}

/// The places where a mask is true: "in 3 of 320 elements, in rows 3 and 17 of 32 (from 0)".
std::string where_true(const at::Tensor& mask) {
  const auto count = mask.sum().item<int64_t>();
  std::string text = "in " + std::to_string(count) + " of " + std::to_string(mask.numel()) + " elements";
  if (mask.dim() == 0 || mask.size(0) < 2) return text;
  const at::Tensor rows = mask.reshape({mask.size(0), -1}).any(1).nonzero().flatten().contiguous();
  const auto* first = rows.data_ptr<int64_t>();
  return text + ", " + rows_text({first, first + rows.numel()}, mask.size(0));
}

/// The number of elements of a function's output; -1 if unknown. Autograd keeps its shape, but LibTorch 1.13 offers
/// only a tensor of zeros with that shape.
int64_t count_of(const Function& node, uint32_t output) {
  return output < node.num_inputs() ? node.input_metadata(output).zeros_like().numel() : -1;
}

struct Maker {
  std::string function, seen;
  const char* advice = "";
};

using Mask = at::Tensor;
constexpr const char* keep_above_0 =
    "add a small number to the input of the logarithm, or clamp it; after a softmax or sigmoid, use log_softmax, or a "
    "loss that takes scores";
constexpr const char* keep_divisor =
    "check why it is 0, and clamp it or add a small number to it: a deviation is 0 if all values are the same";

/// The function of the graph that turns finite inputs into NaN or Inf.
std::optional<Maker> fault_of(const Function& node, const Kept& kept) {
  const std::string name = node.name();
  const auto told = [&](const char* what, const Mask& mask, const char* advice) -> std::optional<Maker> {
    if (!mask.any().item<bool>()) return std::nullopt;
    return Maker{name, std::string(what) + " " + where_true(mask), advice};
  };
  std::optional<Maker> maker;
  const auto& [input, other] = kept.inputs;
  if (input.defined() && has_name(name, {"Log", "Log2", "Log10"}) && !is_bad(input)) {
    maker = told("takes the logarithm of 0", input.eq(0), keep_above_0);
    if (!maker) maker = told("takes the logarithm of numbers below 0", input.lt(0), keep_above_0);
  } else if (input.defined() && has_name(name, {"Log1P"}) && !is_bad(input)) {
    maker = told("takes log1p of -1 or less", input.le(-1), keep_above_0);
  } else if (other.defined() && has_name(name, {"Div"}) && !is_bad(other) && !(input.defined() && is_bad(input))) {
    maker = told("divides by 0", other.eq(0), keep_divisor);
  } else if (input.defined() && has_name(name, {"Pow"}) && kept.exponent.value_or(0) < 0 && !is_bad(input)) {
    maker = told("takes 0 to a power below 0", input.eq(0), keep_divisor);
  } else if (input.defined() && has_name(name, {"Acos", "Asin"}) && !is_bad(input)) {
    maker = told("takes numbers beyond 1", input.abs().gt(1), "clamp the input: rounding leads beyond 1");
  }
  const bool is_mean = has_name(name, {"Mean"}), is_deviation = has_name(name, {"Std", "Var", "StdMean", "VarMean"});
  if (maker || !(is_mean || is_deviation) || !node.next_edge(0).is_valid()) return maker;
  const auto& below = node.next_edge(0);
  const int64_t in = count_of(*below.function, below.input_nr), out = count_of(node, 0);
  if (in == 0 && is_mean)
    return Maker{name, "takes the mean of no elements", "check for an empty batch, or a mask that hides everything"};
  if (in > 0 && in == out && is_deviation)
    return Maker{name, "takes the deviation of a single element each",
                 "a deviation over one row is NaN: drop a last batch of one, or take it without Bessel's correction"};
  return std::nullopt;
}

/// Explains a NaN or Inf by the output of the farthest function that is known to give one, if the inputs of that
/// function are unknown.
std::optional<Maker> last_seen(const NodeHandle& node, const at::Tensor& output) {
  const std::string name = node->name();
  const bool is_nan = output.isnan().any().item<bool>();
  if (is_nan && has_name(name, {"Softmax", "LogSoftmax"}))
    return Maker{name, "gives NaN " + where_true(output.isnan()),
                 "check that each row of the mask leaves an element: a softmax over values that are all -Inf, as when "
                 "everything is masked, is NaN"};
  if (is_nan && has_name(name, {"Sqrt", "Rsqrt"}))
    return Maker{name, "gives NaN " + where_true(output.isnan()) + ", as it does for numbers below 0",
                 "clamp the input of the root at 0: rounding leads below it"};
  if (!is_nan && has_name(name, {"Rsqrt", "Reciprocal"}))
    return Maker{name, "gives Inf " + where_true(output.isinf()) + ", as it does for 0", keep_divisor};
  if (!is_nan && has_name(name, {"Exp", "Expm1"}))
    return Maker{name, "gives Inf " + where_true(output.isinf()) + ", as it does for numbers above 88 in float32",
                 "bound its input, or subtract the maximum first, as logsumexp does"};
  const bool has_unseen = has_name(name, {"Add", "Sub", "Mul", "Div"}) && node->num_outputs() > 1 &&
                          node->next_edge(0).is_valid() != node->next_edge(1).is_valid();
  if (has_unseen)
    return Maker{name,
                 "gives NaN or Inf " + where_true(at::isfinite(output).logical_not()) +
                     "; one of its two operands needs no gradient and was not seen",
                 "check that operand, such as the targets or a mask, for NaN and Inf"};
  return std::nullopt;
}

/// Searches for the origin of a tensor's NaN or Inf, from its own function to those before it. If the input with the
/// NaN or Inf is known, only that one is followed.
class MakerSearch {
 public:
  std::optional<Maker> of(const NodeHandle& node, const at::Tensor& output) {
    constexpr std::size_t most = 4096;
    if (node == nullptr) return std::nullopt;
    bad_ = node;
    bad_output_ = output.detach();
    waiting_.push_back(node);
    std::size_t count = 0;
    while (!(waiting_.empty() && masked_.empty()) && ++count <= most) {
      auto& from = waiting_.empty() ? masked_ : waiting_;
      const NodeHandle next = from.front();
      from.pop_front();
      if (std::optional<Maker> maker = look_at(next)) return maker;
      if (is_leaf_) return std::nullopt;
    }
    // The search ends nowhere without the tensors that functions saved.
    if (is_freed_) return by_names(node);
    return last_seen(bad_, bad_output_);
  }

 private:
  enum class State { unknown, finite, bad };

  std::optional<Maker> look_at(const NodeHandle& node) {
    const Kept kept = kept_by(node);
    is_freed_ = is_freed_ || kept.is_freed;
    bool all_finite = true;
    for (std::size_t i = 0; i < std::max<std::size_t>(kept.inputs.size(), node->num_outputs()); ++i) {
      const bool has_edge = i < node->num_outputs() && node->next_edge(i).is_valid();
      at::Tensor value = i < kept.inputs.size() ? kept.inputs[i] : at::Tensor();
      if (!has_edge && value.defined() && is_bad(value))
        return Maker{node->name(),
                     std::string("is given ") + (i == 0 ? "an operand" : "a second operand") +
                         " that needs no gradient and holds NaN or Inf " +
                         where_true(at::isfinite(value).logical_not()),
                     "check where that operand, such as the targets or a mask, comes from"};
      if (!has_edge) continue;
      const auto& edge = node->next_edge(i);
      const auto* leaf = dynamic_cast<const AccumulateGrad*>(edge.function.get());
      if (!value.defined() && leaf != nullptr) value = leaf->variable.detach();
      if (!value.defined() && edge.input_nr == 0) value = kept_by(edge.function).result;
      const State state = !value.defined() ? State::unknown : is_bad(value) ? State::bad : State::finite;
      all_finite = all_finite && state == State::finite;
      if (state != State::bad) continue;
      // After a step, a parameter may be bad because of the loss.
      is_leaf_ = leaf != nullptr && !is_freed_;
      if (leaf != nullptr) return std::nullopt;
      bad_ = edge.function;
      bad_output_ = value;
      waiting_.assign({edge.function});
      masked_.clear();
      met_.insert(edge.function.get());
      return std::nullopt;
    }
    if (std::optional<Maker> maker = fault_of(*node, kept)) return maker;
    const at::Tensor& result = kept.result.defined() ? kept.result : kept.recomputed;
    const bool is_output_bad = node == bad_ || (result.defined() && is_bad(result));
    if (all_finite && is_output_bad && node->num_outputs() > 0) return overflow(node->name(), kept);
    const bool is_masked = has_name(node->name(), {"Where", "MaskedFill"});
    for (const auto& edge : node->next_edges()) {
      const bool is_leaf = dynamic_cast<const AccumulateGrad*>(edge.function.get()) != nullptr;
      if (edge.is_valid() && !is_leaf && met_.insert(edge.function.get()).second)
        (is_masked ? masked_ : waiting_).push_back(edge.function);
    }
    return std::nullopt;
  }

  /// A function whose inputs are finite and whose output is not.
  static Maker overflow(const std::string& name, const Kept& kept) {
    if (has_name(name, {"NllLoss", "NllLoss2D"}))
      return {name, "takes the mean over no target: all are ignored, or have weight 0",
              "check that each batch has a target that counts, or divide by max(1, their number)"};
    double largest = 0;
    for (const at::Tensor& input : kept.inputs) {
      if (input.defined() && input.numel() > 0 && input.is_floating_point())
        largest = std::max(largest, input.abs().max().item<double>());
    }
    Maker maker{name, "is the first function whose inputs are finite and whose output is not", ""};
    if (largest > 0) maker.seen += " (the largest input magnitude is " + rounded_text(largest) + ")";
    if (largest > 0) maker.advice = "an overflow is the usual cause: check how large the inputs have become";
    return maker;
  }

  /// Finds the functions near a loss that may make a NaN or Inf, if the graph has kept only their names.
  static std::optional<Maker> by_names(const NodeHandle& node) {
    constexpr std::size_t nearest = 24, shown = 3;
    std::vector<std::string> names;
    std::vector<Function*> waiting{node.get()};
    for (std::size_t i = 0; i < waiting.size() && i < nearest; ++i) {
      const std::string name = waiting[i]->name();
      const bool is_suspect =
          has_name(name, {"Log", "Log2", "Log10", "Log1P", "Sqrt", "Rsqrt", "Pow", "Exp", "Expm1", "Reciprocal", "Acos",
                          "Asin", "Std", "Var"}) ||
          (has_name(name, {"Div"}) && waiting[i]->num_outputs() > 1 && waiting[i]->next_edge(1).is_valid());
      if (is_suspect && names.size() < shown && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
      for (const auto& edge : waiting[i]->next_edges()) {
        if (edge.is_valid()) waiting.push_back(edge.function.get());
      }
    }
    if (names.empty()) return std::nullopt;
    Maker maker;
    for (std::size_t i = 0; i < names.size(); ++i)
      maker.function += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    maker.seen = "may have made it (push the loss before backward() to see its inputs)";
    return maker;
  }

  std::deque<NodeHandle> waiting_, masked_;
  std::unordered_set<const Function*> met_;
  NodeHandle bad_;  ///< the last one whose output was seen not to be finite
  at::Tensor bad_output_;
  bool is_freed_ = false, is_leaf_ = false;
};

void lend_maker(const Maker& maker, loupe_draft_take_maker take, void* context) {
  const loupe_draft_maker shown = {.struct_size = sizeof(loupe_draft_maker),
                                   .reserved = 0,
                                   .function = maker.function.c_str(),
                                   .seen = maker.seen.c_str(),
                                   .advice = maker.advice};
  take(context, &shown);
}

loupe_status find_maker(void*, const loupe_tensor* tensor, loupe_draft_take_maker take, void* context,
                        loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_graph;
    if (tensor == nullptr && loss_in_view() == nullptr) return;
    const at::Tensor& native = tensor != nullptr ? native_tensor(tensor) : *loss_in_view();
    const std::optional<Maker> maker = MakerSearch().of(native.grad_fn(), native);
    if (maker) lend_maker(*maker, take, context);
  });
}

/// Describes the number at which the slope of a function is not finite; "" for most functions. If the saved values are
/// still there, that number must be among them.
std::string steep_at(const NodeHandle& node) {
  const std::string name = node->name();
  const Kept kept = kept_by(node);
  const auto& [input, other] = kept.inputs;
  const auto unless_absent = [](const at::Tensor& value, double number, const char* text) {
    const bool is_absent = value.defined() && !value.eq(number).any().item<bool>();
    return is_absent ? std::string() : std::string(text);
  };
  if (has_name(name, {"Sqrt"})) return unless_absent(kept.result, 0, "whose slope at 0 is infinite");
  if (has_name(name, {"Log", "Log2", "Log10"})) return unless_absent(input, 0, "whose slope at 0 is infinite");
  if (has_name(name, {"Pow"}) && kept.exponent && *kept.exponent < 1 && *kept.exponent != 0)
    return unless_absent(input, 0, "whose slope at 0 is infinite");
  if (has_name(name, {"Acos", "Asin"})) return "whose slope at 1 and -1 is infinite";
  if (has_name(name, {"Div"}) && node->num_outputs() > 1 && node->next_edge(1).is_valid())
    return unless_absent(other, 0, "whose slope is infinite where it divides by 0");
  return "";
}

/// Whether a function's output has this shape. Computes nothing of that size.
bool has_shape(const Function& node, uint32_t output, at::IntArrayRef sizes) {
  return output < node.num_inputs() && node.input_metadata(output).is_same_shape(at::zeros({1}).expand(sizes));
}

/// Reports a subtraction between the loss and the last layers that repeats its only operand with a gradient, N numbers,
/// to N x N. This is intended if any other compares pairs of two operands with gradients, or after unsqueeze() and the
/// like.
void lend_repeating(const NodeHandle& loss, loupe_draft_take_maker take, void* context) {
  constexpr std::size_t most = 256;
  std::vector<NodeHandle> all{loss};
  std::unordered_set<const Function*> met;
  std::optional<Maker> found;
  for (std::size_t i = 0; i < all.size() && i < most; ++i) {
    const NodeHandle node = all[i];
    const auto& edges = node->next_edges();
    const bool is_layer = std::any_of(edges.begin(), edges.end(), [](const auto& edge) {
      return dynamic_cast<const AccumulateGrad*>(edge.function.get()) != nullptr;
    });
    if (is_layer) continue;
    const bool is_subtraction = edges.size() == 2 && has_name(node->name(), {"Sub", "Rsub"});
    for (const auto& edge : edges) {
      if (!edge.is_valid()) continue;
      if (met.insert(edge.function.get()).second) all.push_back(edge.function);
      if (!is_subtraction) continue;
      const int64_t rows = count_of(*edge.function, edge.input_nr);
      if (rows < 2 || !has_shape(*node, 0, {rows, rows})) continue;
      const bool is_column = has_shape(*edge.function, edge.input_nr, {rows, 1});
      const bool is_intended = (edges[0].is_valid() && edges[1].is_valid()) ||
                               has_name(edge.function->name(), {"Unsqueeze", "T", "Transpose", "Permute", "Expand"}) ||
                               !(is_column || has_shape(*edge.function, edge.input_nr, {rows}));
      if (is_intended) return;
      const std::string text = std::to_string(rows);
      found = Maker{node->name(), "repeats [" + text + (is_column ? ", 1" : "") + "] to [" + text + ", " + text + "]"};
    }
  }
  if (found) lend_maker(*found, take, context);
}

/// Reports them in the order of their distance from the loss, each name once.
loupe_status find_steep(void*, const loupe_tensor* parameter, loupe_draft_take_maker take, void* context,
                        loupe_error* error) {
  return detail::guarded(error, [&] {
    constexpr std::size_t most = 100000;
    const at::NoGradGuard no_graph;
    const NodeHandle loss = last_graph_here();
    if (loss == nullptr) return;
    if (parameter == nullptr) return lend_repeating(loss, take, context);
    const void* leaf = const_data(native_tensor(parameter));
    std::vector<NodeHandle> all{loss};
    std::unordered_map<const Function*, std::vector<const Function*>> above{{loss.get(), {}}};
    std::vector<const Function*> leading;
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      const NodeHandle node = all[i];
      const auto* end = dynamic_cast<const AccumulateGrad*>(node.get());
      if (end != nullptr && end->variable.has_storage() && const_data(end->variable) == leaf) leading.push_back(end);
      for (const auto& edge : node->next_edges()) {
        if (!edge.is_valid()) continue;
        const auto [known, is_new] = above.try_emplace(edge.function.get());
        known->second.push_back(node.get());
        if (is_new) all.push_back(edge.function);
      }
    }
    std::unordered_set<const Function*> on_the_way(leading.begin(), leading.end());
    for (std::size_t i = 0; i < leading.size(); ++i) {
      for (const Function* each : above[leading[i]]) {
        if (on_the_way.insert(each).second) leading.push_back(each);
      }
    }
    std::unordered_set<std::string> told;
    for (const NodeHandle& node : all) {
      if (on_the_way.count(node.get()) == 0) continue;
      const std::string steep = steep_at(node);
      if (!steep.empty() && told.insert(node->name()).second) lend_maker({node->name(), steep}, take, context);
    }
  });
}

}  // namespace

const loupe_draft_graph_service& graph_service() {
  static const loupe_draft_graph_service table = {.struct_size = sizeof(loupe_draft_graph_service),
                                                  .reserved = 0,
                                                  .leaves = &lend_leaves,
                                                  .maker = &find_maker,
                                                  .steep = &find_steep};
  return table;
}

}  // namespace loupe
