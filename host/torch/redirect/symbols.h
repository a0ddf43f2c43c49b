#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shared.h"

namespace torch::nn {
class Module;
}

namespace loupe {

/// The name under which a function is exported; empty when its object does not export it. Any thread.
LOUPE_SHARED std::string symbol_of(const void* function);

/// Frees the memory that symbol_of keeps for the next call, some megabytes.
void forget_symbol_names();

class WatchedModel;

/// The memory range of one member function of a model's classes.
struct CodeRange {
  std::uintptr_t begin, end;
  bool of_root;                              ///< it belongs to the attached class, not to a child's class
  const WatchedModel* attachment = nullptr;  ///< the model's attachment; only to compare with
};

/// The member functions of the root's class and of the program's own classes below it, from the symbol tables of the
/// program and of the library with the class; sorted. Empty if these were stripped or cannot be read.
std::vector<CodeRange> find_model_code(torch::nn::Module& root);

/// The member functions of one class in the object that contains `address`, from its symbol table. Empty if that was
/// stripped or cannot be read.
LOUPE_SHARED std::vector<CodeRange> find_member_code(const std::string& type, const void* address);

}  // namespace loupe
