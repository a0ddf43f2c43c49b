#ifndef LOUPE_TORCH_SERVICES_H
#define LOUPE_TORCH_SERVICES_H

#include <loupe/abi.h>

namespace loupe {

// The host services that stand on LibTorch, by their ids. The tables live for good.

/// LOUPE_TENSORS_ID
const loupe_tensors& tensor_service();
/// LOUPE_TENSOR_MATH_ID
const loupe_tensor_math& tensor_math_service();
/// LOUPE_TENSOR_FILES_ID
const loupe_tensor_files& tensor_files_service();
/// LOUPE_DLPACK_ID
const loupe_dlpack& dlpack_service();

}  // namespace loupe

#endif
