#include <ATen/dlpack.h>
#include <loupe/draft/abi/dlpack.h>
#include <loupe/error.h>

#include "torch/tensor/services.h"

namespace loupe {
namespace {

loupe_status lend(void*, const loupe_tensor* tensor, void* dl_tensor, std::size_t size, loupe_error* error) {
  return detail::guarded(error, [&] {
    if (tensor == nullptr || dl_tensor == nullptr)
      throw Error("there is no tensor to lend, or no place for it", LOUPE_INVALID);
    if (size < sizeof(DLTensor)) {
      throw Error("a DLTensor has " + std::to_string(sizeof(DLTensor)) + " bytes, not " + std::to_string(size) +
                      "; build the plugin with DLPack's own header",
                  LOUPE_INVALID);
    }
    if (tensor->dtype_code == LOUPE_DTYPE_OPAQUE) {
      throw Error("DLPack has no such element type as this tensor's", LOUPE_UNSUPPORTED);
    }
    if (tensor->device_type == 0) throw Error("DLPack has no such device as this tensor's", LOUPE_UNSUPPORTED);
    auto& lent = *static_cast<DLTensor*>(dl_tensor);
    lent = {};
    lent.data = const_cast<void*>(tensor->data);  // not to be written to all the same, as the service says
    lent.device = {static_cast<DLDeviceType>(tensor->device_type), tensor->device_id};
    lent.ndim = static_cast<int32_t>(tensor->dim);
    lent.dtype = {tensor->dtype_code, tensor->dtype_bits, tensor->dtype_lanes};
    lent.shape = const_cast<int64_t*>(tensor->sizes);
    lent.strides = const_cast<int64_t*>(tensor->strides);
  });
}

}  // namespace

const loupe_draft_dlpack_service& dlpack_service() {
  static const loupe_draft_dlpack_service table = {.struct_size = sizeof(loupe_draft_dlpack_service), .lend = &lend};
  return table;
}

}  // namespace loupe
