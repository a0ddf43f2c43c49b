#pragma once

// A draft: it may change or go without notice. Host services for whole tensors: computations, files, the graph that
// computed them, and optimizer states. Each function throws Error if the host does not offer it, unless stated
// otherwise.

#include <loupe/draft/abi/tensor_math.h>
#include <loupe/host.h>
#include <loupe/lenses/kept_tensor.h>

#include <optional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// The singular values of a matrix, largest first; more dimensions are flattened from dim 1. Slow. Throws Error for
/// fewer than two dimensions, and for a matrix with NaN or Inf.
inline std::vector<double> singular_values(const Host& host, const loupe_tensor& matrix) {
  std::size_t count = 0;
  std::vector<double> values(static_cast<std::size_t>(matrix.dim > 0 ? matrix.sizes[0] : 1));
  detail::ErrorBuffer error;
  const auto& math = host.service<loupe_draft_tensor_math_service>(LOUPE_DRAFT_TENSOR_MATH_ID);
  error.check(math.singular_values(host.context(), &matrix, values.data(), values.size(), &count, error.get()));
  values.resize(count);
  return values;
}
inline std::vector<double> singular_values(const Host& host, const TensorView& matrix) {
  return singular_values(host, *matrix.raw());
}

/// A copy of one item along dimension 0.
inline KeptTensor clone_item(const Host& host, const loupe_tensor& tensor, int64_t item) {
  loupe_retained* kept = nullptr;
  detail::ErrorBuffer error;
  const auto& math = host.service<loupe_draft_tensor_math_service>(LOUPE_DRAFT_TENSOR_MATH_ID);
  error.check(math.clone_item(host.context(), &tensor, item, &kept, error.get()));
  return {host, kept};
}

/// Makes a kept tensor the LOUPE_DRAFT_FOLD_SUM, MEAN, MAX or MIN of the `count` tensors folded so far and one more of
/// the same shape.
inline void fold(const Host& host, KeptTensor& into, const loupe_tensor& tensor, uint32_t aggregation, uint64_t count) {
  detail::ErrorBuffer error;
  const auto& math = host.service<loupe_draft_tensor_math_service>(LOUPE_DRAFT_TENSOR_MATH_ID);
  error.check(math.fold(host.context(), into.raw(), &tensor, aggregation, count, error.get()));
}

/// Writes a file that C++'s torch::load and Python's torch.load read: a list, or only the first tensor. Throws Error if
/// the host does not offer this draft.
inline void save(const Host& host, const std::vector<KeptTensor>& tensors, bool as_list, const std::string& path) {
  std::vector<const loupe_retained*> handles;
  for (const KeptTensor& tensor : tensors) handles.push_back(tensor.raw());
  detail::ErrorBuffer error;
  const auto& files = host.service<loupe_draft_tensor_file_service>(LOUPE_DRAFT_TENSOR_FILES_ID);
  error.check(files.save(host.context(), handles.data(), handles.size(), as_list ? uint32_t{LOUPE_DRAFT_SAVE_LIST} : 0u,
                         path.c_str(), error.get()));
}

/// The addresses of the elements of the leaves that an event's tensor depends on and that get gradients; only while
/// that event is processed. Empty if the host does not offer this draft.
inline std::unordered_set<const void*> leaves_of(const Host& host, const loupe_tensor& tensor) {
  std::unordered_set<const void*> leaves;
  const auto* table = static_cast<const loupe_draft_graph_service*>(host.get_extension(LOUPE_DRAFT_GRAPH_ID));
  if (table == nullptr) return leaves;
  const auto take = [](void* context, const void* data) {
    static_cast<std::unordered_set<const void*>*>(context)->insert(data);
  };
  detail::ErrorBuffer error;
  error.check(table->leaves(host.context(), &tensor, take, &leaves, error.get()));
  return leaves;
}

/// A function of autograd's graph; see loupe_draft_maker.
struct Maker {
  std::string function, seen, advice;
};

/// The functions that `ask(graph, take, context)` receives.
template <class Ask>
std::vector<Maker> makers_told(const Host& host, Ask&& ask) {
  std::vector<Maker> makers;
  const auto* table = static_cast<const loupe_draft_graph_service*>(host.get_extension(LOUPE_DRAFT_GRAPH_ID));
  if (table == nullptr || !LOUPE_OFFERS(*table, steep)) return makers;
  const auto take = [](void* context, const loupe_draft_maker* maker) {
    static_cast<std::vector<Maker>*>(context)->push_back({maker->function, maker->seen, maker->advice});
  };
  ask(*table, static_cast<loupe_draft_take_maker>(take), &makers);
  return makers;
}

/// The function that made the NaN or Inf of an event's tensor, or, with null, of the loss that is pushed; at most one,
/// none if the host does not know it.
inline std::vector<Maker> maker_of(const Host& host, const loupe_tensor* tensor) {
  return makers_told(host, [&](const loupe_draft_graph_service& graph, auto take, void* makers) {
    graph.maker(host.context(), tensor, take, makers, nullptr);
  });
}

/// The functions between the last loss and a parameter that the host lends whose slope is not finite.
inline std::vector<Maker> steep_functions(const Host& host, const loupe_tensor& parameter) {
  return makers_told(host, [&](const loupe_draft_graph_service& graph, auto take, void* makers) {
    graph.steep(host.context(), &parameter, take, makers, nullptr);
  });
}

/// The subtraction near the last loss that repeats an operand because of the other one's shape; at most one.
inline std::vector<Maker> repeating_subtraction(const Host& host) {
  return makers_told(host, [&](const loupe_draft_graph_service& graph, auto take, void* makers) {
    graph.steep(host.context(), nullptr, take, makers, nullptr);
  });
}

/// In Lens::step: calls `take(const char* name, const loupe_tensor&)` with each state that the optimizer which has just
/// stepped keeps for a parameter that the host lends; see loupe_draft_optimizer_state_service. False if it keeps none.
template <class Take>
bool lend_optimizer_states(const Host& host, const loupe_tensor& parameter, Take&& take) {
  const auto* table =
      static_cast<const loupe_draft_optimizer_state_service*>(host.get_extension(LOUPE_DRAFT_OPTIMIZER_STATES_ID));
  if (table == nullptr) return false;
  const auto call = [](void* context, const char* name, const loupe_tensor* state) {
    (*static_cast<std::remove_reference_t<Take>*>(context))(name, *state);
  };
  return table->lend(host.context(), &parameter, call, &take, nullptr) == LOUPE_OK;
}

/// Ask for it once; null if the host does not offer it.
inline const loupe_draft_optimizer_defaults_service* optimizer_defaults(const Host& host) {
  return static_cast<const loupe_draft_optimizer_defaults_service*>(
      host.get_extension(LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID));
}

/// In Lens::step: the learning rate in the defaults of the optimizer that has just stepped; see
/// loupe_draft_optimizer_defaults_service. Nullopt if unknown.
/// @param service  what optimizer_defaults() gave
inline std::optional<double> default_learning_rate(const Host& host,
                                                   const loupe_draft_optimizer_defaults_service* service) {
  double rate = 0;
  if (service == nullptr || service->learning_rate(host.context(), &rate, nullptr) != LOUPE_OK) return std::nullopt;
  return rate;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
