#ifndef LOUPE_TORCH_MEMBER_CODE_H
#define LOUPE_TORCH_MEMBER_CODE_H

#include <string>
#include <vector>

#include "torch/model_code.h"

namespace loupe {

/// The member functions of one class that the object has compiled in which `address` lies, as its symbol table says.
/// Empty where that was stripped or cannot be read.
std::vector<CodeRange> find_member_code(const std::string& type, const void* address);

}  // namespace loupe

#endif
