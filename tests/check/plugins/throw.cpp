// What C code cannot do by itself.

#include <stdexcept>

extern "C" void throw_something() {
  throw std::runtime_error("thrown on purpose");
}
