#include "torch/tensor/retained_tensor.h"
#include "torch/tensor/services.h"
#include "torch/tensor/tensor_file.h"

namespace loupe {
namespace {

loupe_status save(void*, const loupe_retained* const* tensors, std::size_t count, uint32_t flags, const char* path,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    const bool as_list = (flags & LOUPE_DRAFT_SAVE_LIST) != 0;
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(tensors[i]->tensor);
    if (all.empty() && !as_list) throw Error("there is no tensor to save", LOUPE_INVALID);
    save_tensors(all, as_list, path);
  });
}

}  // namespace

const loupe_draft_tensor_file_service& tensor_files_service() {
  static const loupe_draft_tensor_file_service table = {.struct_size = sizeof(loupe_draft_tensor_file_service),
                                                        .save = &save};
  return table;
}

}  // namespace loupe
