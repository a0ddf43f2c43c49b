#include "torch/retained_tensor.h"
#include "torch/services.h"
#include "torch/tensor_file.h"

namespace loupe {
namespace {

loupe_status save(void*, const loupe_retained* const* tensors, std::size_t count, uint32_t as_list, const char* path,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(tensors[i]->tensor);
    if (all.empty() && as_list == 0) throw Error("there is no tensor to save", LOUPE_INVALID);
    save_tensors(all, as_list != 0, path);
  });
}

}  // namespace

const loupe_tensor_files& tensor_files_service() {
  static const loupe_tensor_files table = {sizeof(loupe_tensor_files), 0, &save};
  return table;
}

}  // namespace loupe
