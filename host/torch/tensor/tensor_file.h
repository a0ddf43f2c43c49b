#pragma once

#include <filesystem>
#include <vector>

namespace at {
class Tensor;
}

namespace loupe {

/// Writes tensors to a file that C++'s torch::load and Python's torch.load both read, the latter also where it loads
/// nothing but weights. `as_list`: a list of tensors (std::vector<at::Tensor> in C++), else the first alone. Throws
/// std::runtime_error when the file cannot be written or a tensor is of a kind that neither could read.
void save_tensors(const std::vector<at::Tensor>& tensors, bool as_list, const std::filesystem::path& file);

}  // namespace loupe
