#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/part.h"
#include "core/shared.h"

namespace torch::jit {
struct Method;
struct Module;
}  // namespace torch::jit
namespace torch::nn {
class Module;
}

namespace loupe {

using ScriptKwargs = std::unordered_map<std::string, c10::IValue>;

#define LOUPE_METHOD_CALL                                                                                      \
  "_ZNK5torch3jit6MethodclESt6vectorIN3c106IValueESaIS4_EERKSt13unordered_mapINSt7__cxx1112basic_stringIcSt11" \
  "char_traitsIcESaIcEEES4_St4hashISD_ESt8equal_toISD_ESaISt4pairIKSD_S4_EEE"
#define LOUPE_METHOD_RUN "_ZN5torch3jit6Method3runERSt6vectorIN3c106IValueESaIS4_EE"

// LibTorch's own functions. A member function is called like a free one whose first parameter is the object (Itanium
// C++ ABI); the first of these is virtual, so a pointer to it does not contain its address.
__attribute__((visibility("default"))) c10::IValue real_call(const torch::jit::Method* method,
                                                             std::vector<c10::IValue> stack,
                                                             const ScriptKwargs& more) asm(LOUPE_METHOD_CALL);
__attribute__((visibility("default"))) void real_run(torch::jit::Method* method,
                                                     std::vector<c10::IValue>& stack) asm(LOUPE_METHOD_RUN);

/// The functions of the part `script`. It is opened at the first script that is attached, or that runs while a model is
/// attached.
struct ScriptTable {
  static constexpr Part part = Part::script;
  /// The model that represents a script in the watched tree: finds or creates it. Any thread that holds the script.
  std::shared_ptr<torch::nn::Module> (*model_of)(const torch::jit::Module& script);
  /// Reads the forward of such a model that is about to be attached, and fills in each layer's `visibility`. Under a
  /// hold of the redirections, if they are used.
  void (*prepare)(torch::nn::Module& model);
  /// Makes the program's call, and reports it as a forward. Throws what the script throws.
  c10::IValue (*call)(const torch::jit::Method* method, std::vector<c10::IValue> stack, const ScriptKwargs& more);
  void (*run)(torch::jit::Method* method, std::vector<c10::IValue>& stack);
};

inline constexpr const char* without_scripts = "TorchScript models are not watched";

/// Declares the calls of TorchScript's methods to the redirections; once.
void declare_script_taps();
/// Whether these calls can be redirected here. Call it after declare_script_taps.
LOUPE_SHARED bool reaches_script_calls();

}  // namespace loupe
