#pragma once

#include <filesystem>
#include <vector>

namespace at {
class Tensor;
}

namespace loupe {

/// See ServicesTable::save.
void write_tensors(const std::vector<at::Tensor>& tensors, bool as_list, const std::filesystem::path& file);

}  // namespace loupe
