#include <ATen/core/grad_mode.h>
#include <algorithm>

#include "torch/tensor/retained_tensor.h"
#include "torch/tensor/services.h"

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

}  // namespace loupe
