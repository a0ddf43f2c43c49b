#pragma once

// A draft: it may change or go without notice. Tensors in files.

#include <loupe/draft/abi/tensor_files.h>
#include <loupe/lenses/kept_tensor.h>

#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// Writes a file that C++'s torch::load and Python's torch.load read: a list, or the first tensor alone. Throws Error
/// where the host does not offer this draft.
inline void save(const Host& host, const std::vector<KeptTensor>& tensors, bool as_list, const std::string& path) {
  std::vector<const loupe_retained*> handles;
  for (const KeptTensor& tensor : tensors) handles.push_back(tensor.raw());
  detail::ErrorBuffer error;
  const auto& files = host.service<loupe_draft_tensor_file_service>(LOUPE_DRAFT_TENSOR_FILES_ID);
  error.check(files.save(host.context(), handles.data(), handles.size(), as_list ? uint32_t{LOUPE_DRAFT_SAVE_LIST} : 0u,
                         path.c_str(), error.get()));
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
