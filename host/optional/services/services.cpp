#include "services/services.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "services/device_measurer.h"
#include "services/event_print.h"
#include "services/tensor_file.h"
#include "services/tensor_lending.h"
#include "torch/tensor/compat.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

loupe_status retain(void*, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] { *kept = new loupe_retained(native_tensor(tensor).detach()); });
}

loupe_status clone(void*, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    *kept = new loupe_retained(native_tensor(tensor).detach().clone());
  });
}

loupe_status copy(void*, const loupe_tensor* tensor, double* values, std::size_t capacity, std::size_t* count,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor flat = native_tensor(tensor).detach().to(at::kCPU, at::kDouble).contiguous();
    *count = static_cast<std::size_t>(flat.numel());
    std::copy_n(flat.data_ptr<double>(), std::min(*count, capacity), values);
  });
}

loupe_status singular_values(void*, const loupe_tensor* matrix, double* values, std::size_t capacity,
                             std::size_t* count, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor tensor = native_tensor(matrix).detach().to(at::kCPU, at::kDouble);
    if (tensor.dim() < 2) throw Error("singular values need a matrix, not a tensor of fewer dimensions", LOUPE_INVALID);
    if (tensor.dim() > 2) tensor = tensor.flatten(1);
    if (!at::isfinite(tensor).all().item<bool>()) {
      throw Error("a matrix with NaN or Inf has no singular values", LOUPE_NOT_FOUND);
    }
    const at::Tensor sorted = std::get<1>(at::svd(tensor, /*some=*/true, /*compute_uv=*/false)).contiguous();
    *count = std::min(capacity, static_cast<std::size_t>(sorted.numel()));
    std::copy_n(sorted.data_ptr<double>(), *count, values);
  });
}

void fold_into(at::Tensor& into, const at::Tensor& other, uint32_t aggregation, uint64_t count) {
  switch (aggregation) {
    case LOUPE_DRAFT_FOLD_SUM:
      into.add_(other);
      return;
    case LOUPE_DRAFT_FOLD_MEAN:
      into.add_(other.sub(into).div_(static_cast<double>(count + 1)));
      return;
    case LOUPE_DRAFT_FOLD_MAX:
      into.copy_(at::maximum(into, other));
      return;
    case LOUPE_DRAFT_FOLD_MIN:
      into.copy_(at::minimum(into, other));
      return;
    default:
      throw Error("tensors can only be folded into their sum, mean, max or min", LOUPE_UNSUPPORTED);
  }
}

/// "[2, 3]"
std::string shape_of(const at::Tensor& tensor) {
  std::string text;
  for (const int64_t size : tensor.sizes()) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

loupe_status clone_item(void*, const loupe_tensor* tensor, int64_t item, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor source = native_tensor(tensor).detach();
    if (source.dim() == 0 || item < 0 || item >= source.size(0)) {
      throw Error("a tensor of shape " + shape_of(source) + " has no item " + std::to_string(item), LOUPE_NOT_FOUND);
    }
    *kept = new loupe_retained(source.select(0, item).clone());
  });
}

loupe_status fold(void*, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation, uint64_t count,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor other = native_tensor(tensor).detach();
    if (other.sizes() != into->tensor.sizes()) {
      throw Error("a tensor of shape " + shape_of(other) + " cannot be folded into one of shape " +
                      shape_of(into->tensor) + ", which came first",
                  LOUPE_INVALID);
    }
    fold_into(into->tensor, other, aggregation, count);
  });
}

loupe_status save_files(void*, const loupe_retained* const* tensors, std::size_t count, uint32_t flags,
                        const char* path, loupe_error* error) {
  return detail::guarded(error, [&] {
    const bool as_list = (flags & LOUPE_DRAFT_SAVE_LIST) != 0;
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(tensors[i]->tensor);
    if (all.empty() && !as_list) throw Error("there is no tensor to save", LOUPE_INVALID);
    write_tensors(all, as_list, path);
  });
}

/// The bytes of the elements, as integers.
at::Tensor bits_of(const at::Tensor& tensor) {
  switch (tensor.element_size()) {
    case 1:
      return tensor.view(at::kChar);
    case 2:
      return tensor.view(at::kShort);
    case 4:
      return tensor.view(at::kInt);
    case 8:
      return tensor.view(at::kLong);
    default:
      throw Error("elements of " + std::to_string(tensor.element_size()) + " bytes are not compared on a device",
                  LOUPE_UNSUPPORTED);
  }
}

loupe_status take_fingerprint(void*, const loupe_tensor* tensor, loupe_retained** sum, loupe_error* error) {
  return detail::guarded(error, [&] {
    constexpr int64_t most = int64_t{1} << 22;  // elements; a sample has up to twice as many
    const at::NoGradGuard no_grad;
    at::Tensor bits = bits_of(native_tensor(tensor).detach()).flatten();
    if (bits.numel() > most) bits = bits.slice(0, 0, bits.numel(), bits.numel() / most);
    // Sums of integers do not depend on the order. The first half is added again with a factor, since elements that
    // have changed places would not be noticed otherwise.
    const at::Tensor all = bits.sum(at::kLong), half = bits.narrow(0, 0, bits.numel() / 2).sum(at::kLong);
    *sum = new loupe_retained(all + half * 31);
  });
}

loupe_status read_fingerprints(void*, const loupe_retained* const* sums, std::size_t count, uint64_t* values,
                               loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    std::map<std::string, std::vector<std::size_t>> by_device;
    for (std::size_t i = 0; i < count; ++i) by_device[sums[i]->tensor.device().str()].push_back(i);
    for (const auto& [device, places] : by_device) {
      std::vector<at::Tensor> of_device;
      for (const std::size_t place : places) of_device.push_back(sums[place]->tensor);
      const at::Tensor read = at::stack(of_device).to(at::kCPU);
      for (std::size_t i = 0; i < places.size(); ++i)
        values[places[i]] = static_cast<uint64_t>(read.data_ptr<int64_t>()[i]);
    }
  });
}

std::optional<c10::ScalarType> scalar_type(const loupe_tensor& view) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    const ElementType known = element_type(type);
    if (known.code != LOUPE_DTYPE_OPAQUE && known.code == view.dtype_code && known.bits == view.dtype_bits &&
        known.lanes == view.dtype_lanes)
      return type;
  }
  return std::nullopt;
}

bool make_tensor(void* place, const loupe_tensor& view, const std::shared_ptr<const void>& memory) {
  static_assert(sizeof(at::Tensor) == TensorLending::size);
  const std::optional<c10::ScalarType> type = scalar_type(view);
  if (!type || view.device_type != LOUPE_DEVICE_CPU) return false;
  const auto dim = static_cast<std::size_t>(view.dim);
  const auto keep = [memory](void*) {};
  new (place) at::Tensor(at::from_blob(const_cast<void*>(view.data), {view.sizes, dim}, {view.strides, dim}, keep,
                                       at::TensorOptions(*type)));
  return true;
}

void destroy_tensor(void* place) {
  static_cast<at::Tensor*>(place)->~Tensor();
}

}  // namespace

const loupe_tensor_service& tensor_service() {
  static const loupe_tensor_service table = {.struct_size = sizeof(loupe_tensor_service),
                                             .retain = &retain,
                                             .release = [](void*, loupe_retained* kept) { delete kept; },
                                             .view = [](void*, const loupe_retained* kept) { return kept->view.get(); },
                                             .clone = &clone,
                                             .copy = &copy};
  return table;
}

const loupe_draft_tensor_math_service& tensor_math_service() {
  static const loupe_draft_tensor_math_service table = {.struct_size = sizeof(loupe_draft_tensor_math_service),
                                                        .singular_values = &singular_values,
                                                        .clone_item = &clone_item,
                                                        .fold = &fold};
  return table;
}

const loupe_draft_tensor_file_service& tensor_files_service() {
  static const loupe_draft_tensor_file_service table = {.struct_size = sizeof(loupe_draft_tensor_file_service),
                                                        .save = &save_files};
  return table;
}

const loupe_draft_fingerprint_service& fingerprint_service() {
  static const loupe_draft_fingerprint_service table = {
      .struct_size = sizeof(loupe_draft_fingerprint_service), .take = &take_fingerprint, .read = &read_fingerprints};
  return table;
}

namespace {

const void* service(const char* id) {
  const auto is = [&](const char* other) { return std::strcmp(id, other) == 0; };
  if (is(LOUPE_TENSORS_ID)) return &tensor_service();
  if (is(LOUPE_DRAFT_TENSOR_MATH_ID)) return &tensor_math_service();
  if (is(LOUPE_DRAFT_TENSOR_FILES_ID)) return &tensor_files_service();
  if (is(LOUPE_DRAFT_FINGERPRINTS_ID)) return &fingerprint_service();
  if (is(LOUPE_DRAFT_GRAPH_ID)) return &graph_service();
  if (is(LOUPE_DRAFT_OPTIMIZER_STATES_ID)) return &optimizer_state_service();
  if (is(LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID)) return &optimizer_defaults_service();
  return nullptr;
}

const TensorLending& tensor_lending() {
  static const TensorLending lending = {&native_libtorch(), &make_tensor, &destroy_tensor};
  return lending;
}

uint64_t version_of(const loupe_tensor& tensor) {
  const auto* native = static_cast<const at::Tensor*>(tensor.native);
  const bool counts = native != nullptr && native->defined() && !native->is_inference();
  return counts ? static_cast<uint64_t>(native->_version()) : 0;
}

uint64_t print(const loupe_event& event) {
  return print_of(event, &version_of);
}

}  // namespace

const ServicesTable services_table = {&service, &write_tensors, &make_device_measurer, &tensor_lending, &print};

}  // namespace loupe
