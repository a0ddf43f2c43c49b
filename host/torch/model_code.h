#ifndef LOUPE_TORCH_MODEL_CODE_H
#define LOUPE_TORCH_MODEL_CODE_H

#include <cstdint>
#include <vector>

namespace torch::nn {
class Module;
}

namespace loupe {

class Attachment;

/// Where one member function of a model's classes lies in memory.
struct CodeRange {
  std::uintptr_t begin, end;
  bool of_root;                            ///< of the class that was attached, not of one of its children's
  const Attachment* attachment = nullptr;  ///< whose model that is; only to compare with
};

/// The member functions of the root's class and of the program's own classes below it, as the symbol tables of the
/// program and of the library that holds the class say; sorted. Empty where these were stripped or cannot be read.
std::vector<CodeRange> find_model_code(torch::nn::Module& root);

}  // namespace loupe

#endif
