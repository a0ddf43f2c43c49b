// Helpers for C code: throwing an exception, and operator new.

#include <stdexcept>

extern "C" void throw_something() {
  throw std::runtime_error("thrown on purpose");
}

extern "C" void allocate_by_new() {
  char* volatile block = new char[64];
  delete[] block;
}
