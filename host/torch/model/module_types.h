#pragma once

#include <cstdint>
#include <string>

#include "core/shared.h"

namespace torch::nn {
class Module;
}

namespace loupe {

/// "Linear" for "torch::nn::LinearImpl"; the class's own name for others.
LOUPE_SHARED std::string short_type(const std::string& full_type);
/// A LOUPE_FAMILY_ for a type of LibTorch's.
uint32_t family_of(const std::string& short_type);

/// Describes how the forward of a module's type can be seen.
struct Visibility {
  bool tapped = false;
  bool perhaps = false;    ///< tapped, unless the module's type overrides forward, which a run will show
  bool container = false;  ///< runs its children; its own forward need not be seen
  bool opaque = false;     ///< one of LibTorch's leaves
  bool has_no_forward = false;
  std::string reason;  ///< why it is not tapped, and what to do
};
/// A module that defines itself how its forward is seen.
struct HasVisibility {
  virtual ~HasVisibility() = default;
  Visibility visibility;  ///< written before the module is attached
};
/// The root of a TorchScript model.
struct ScriptRoot {
  virtual ~ScriptRoot() = default;
  virtual bool script_lives() const = 0;  ///< false: the script no longer exists
};
/// Installs the taps of the module's own type. Under a hold of the redirections.
/// @param redirect  whether calls into LibTorch may be redirected (`taps: auto`)
LOUPE_SHARED Visibility visibility_of(const torch::nn::Module& module, bool redirect);

/// Declares every forward of LibTorch's modules to the redirections; once.
void declare_forward_taps();

}  // namespace loupe
