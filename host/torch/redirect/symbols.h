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
std::string symbol_of(const void* function);

/// Gives back the memory that symbol_of keeps for the next call, some megabytes.
void forget_symbol_names();

class WatchedModel;

/// Where one member function of a model's classes lies in memory.
struct CodeRange {
  std::uintptr_t begin, end;
  bool of_root;                              ///< of the class that was attached, not of one of its children's
  const WatchedModel* attachment = nullptr;  ///< whose model that is; only to compare with
};

/// The member functions of the root's class and of the program's own classes below it, as the symbol tables of the
/// program and of the library that holds the class say; sorted. Empty where these were stripped or cannot be read.
std::vector<CodeRange> find_model_code(torch::nn::Module& root);

/// The member functions of one class that the object has compiled in which `address` lies, as its symbol table says.
/// Empty where that was stripped or cannot be read.
LOUPE_SHARED std::vector<CodeRange> find_member_code(const std::string& type, const void* address);

}  // namespace loupe
