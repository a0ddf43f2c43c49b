#include "check/libtorch.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "loader/catalogue.h"
#include "run/boundary.h"

namespace loupe::check {
namespace {

const TensorLending* lending = nullptr;

bool has_libtorch() {
  const auto is_libtorch = [](dl_phdr_info* library, std::size_t, void*) {
    return std::strstr(library->dlpi_name, "/libc10.so") != nullptr ? 1 : 0;
  };
  return ::dl_iterate_phdr(is_libtorch, nullptr) != 0;
}

}  // namespace

std::string load_tensor_lending() {
  if (lending != nullptr || !has_libtorch()) return "";
  const std::string plugins = own_plugin_folder();
  const std::string file = plugins.empty() ? run_host_name : plugins + "/../../" + run_host_name;
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library != nullptr ? ::dlsym(library, tensor_lending_name) : nullptr;
  if (function == nullptr) {
    const char* words = ::dlerror();
    return words != nullptr ? words : file + " gives no tensors";
  }
  lending = reinterpret_cast<GetTensorLending>(function)();
  return "";
}

const TensorLending* tensor_lending() {
  return lending;
}

void add_native(loupe_tensor& view, void* place, const std::shared_ptr<const void>& memory) {
  if (lending == nullptr || !lending->make(place, view, memory)) return;
  view.native = place;
  view.native_library = lending->library;
}

void destroy_native(const void* native) {
  if (native != nullptr) lending->destroy(const_cast<void*>(native));
}

}  // namespace loupe::check
