#pragma once

// What is loaded into this process, without C++'s library.

namespace loupe {

constexpr unsigned long text_size = 1024, version_size = 64;

/// Text that may be cut.
__attribute__((format(printf, 3, 4))) void put(char* text, unsigned long size, const char* format, ...);

struct LibraryName {
  const char* begins;
  char path[text_size];
};
/// The path of a loaded library whose file's name begins like that.
bool is_loaded(LibraryName& name);

/// Any loaded library's function of that name but this one's; null where there is none.
void* find_anywhere(const char* name);

/// "1.13.1" of the LibTorch that is loaded, by its own word. False where it does not say.
bool read_loaded_version(char (&version)[version_size]);
/// Whether both versions begin with the same two numbers.
bool is_same_minor(const char* version, const char* other);

}  // namespace loupe
