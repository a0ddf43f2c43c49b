#include "run/loaded_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace loupe {
namespace {

int find_library(dl_phdr_info* info, size_t, void* data) {
  auto& wanted = *static_cast<LibraryName*>(data);
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (strncmp(name, wanted.begins, strlen(wanted.begins)) != 0) return 0;
  put(wanted.path, sizeof wanted.path, "%s", info->dlpi_name);
  return 1;
}
struct NthLibrary {
  int left;
  char path[text_size];
};
int count_down(dl_phdr_info* info, size_t, void* data) {
  auto& wanted = *static_cast<NthLibrary*>(data);
  if (wanted.left-- > 0) return 0;
  put(wanted.path, sizeof wanted.path, "%s", info->dlpi_name);
  return 1;
}

/// A string of C++'s library: what is as large is returned in the same way, through memory that the caller lends.
struct LentString {
  char* text;
  unsigned long size;
  char rest[64];  ///< where a short text lies, too

  bool is_on_heap() const { return text != nullptr && text != rest; }
};

}  // namespace

void put(char* text, unsigned long size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, size, format, arguments);
  va_end(arguments);
}

bool is_loaded(LibraryName& name) {
  return dl_iterate_phdr(&find_library, &name) == 1;
}

/// No library is opened while they are listed, which takes the loader's locks the other way round.
void* find_anywhere(const char* name) {
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&find_anywhere), &own);
  for (int i = 0;; ++i) {
    NthLibrary library{i, ""};
    if (dl_iterate_phdr(&count_down, &library) == 0) return nullptr;
    void* opened = library.path[0] != '\0' ? dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (opened == nullptr) continue;
    void* found = dlsym(opened, name);
    dlclose(opened);
    Dl_info of{};
    if (found != nullptr && dladdr(found, &of) != 0 && of.dli_fbase != own.dli_fbase) return found;
  }
}

bool read_loaded_version(char (&version)[version_size]) {
  constexpr const char* key = "TORCH_VERSION=";
  const auto show = reinterpret_cast<LentString (*)()>(find_anywhere("_ZN2at11show_configB5cxx11Ev"));
  version[0] = '\0';
  if (show == nullptr) return false;
  const LentString config = show();
  const char* found = config.text != nullptr ? strstr(config.text, key) : nullptr;
  if (found != nullptr) {
    found += strlen(key);
    put(version, version_size, "%.*s", static_cast<int>(strcspn(found, ", \n")), found);
  }
  // As LibTorch would: a sanitizer's may stand in the place of C++'s.
  const auto free_memory = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "_ZdlPv"));
  if (free_memory != nullptr && config.is_on_heap()) free_memory(config.text);
  return version[0] != '\0';
}

bool is_same_minor(const char* version, const char* other) {
  const auto length = [](const char* text) {
    const char* first = strchr(text, '.');
    const char* second = first != nullptr ? strchr(first + 1, '.') : nullptr;
    return second != nullptr ? static_cast<unsigned long>(second - text) : strlen(text);
  };
  return length(version) == length(other) && strncmp(version, other, length(version)) == 0;
}

}  // namespace loupe
