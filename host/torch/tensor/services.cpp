#include "torch/tensor/services.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <loupe/draft/abi/tensor_math.h>

#include <algorithm>
#include <stdexcept>

#include "loader/component_instance.h"
#include "pipeline/gatherer_node.h"
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

/// That of the part.
const void* optional_service(const char* id) {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  return services != nullptr ? services->service(id) : nullptr;
}

std::unique_ptr<DeviceMeasurer> make_device_measurer(const loupe_request& request, int64_t history) {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  return services != nullptr ? services->measurer(request, history) : nullptr;
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

void offer_tensor_services() {
  offer_interface(LOUPE_TENSORS_ID, &tensor_service());
  for (const char* id : {LOUPE_DRAFT_TENSOR_MATH_ID, LOUPE_DRAFT_TENSOR_FILES_ID, LOUPE_DRAFT_FINGERPRINTS_ID,
                         LOUPE_DRAFT_GRAPH_ID, LOUPE_DRAFT_OPTIMIZER_STATES_ID, LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID})
    offer_interface(id, &optional_service);
  set_device_measurer_factory(&make_device_measurer);
}

void save_tensors(const std::vector<at::Tensor>& tensors, bool as_list, const std::filesystem::path& file) {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  if (services == nullptr)
    throw std::runtime_error("loupe: cannot write '" + file.string() +
                             "' without the part 'services'; install Loupe whole");
  services->save(tensors, as_list, file);
}

}  // namespace loupe
