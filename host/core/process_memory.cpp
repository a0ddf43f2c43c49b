#include "core/process_memory.h"

#include <unistd.h>

#include <fstream>

namespace loupe {

std::optional<double> process_memory() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  if (!(file >> all >> resident)) return std::nullopt;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace loupe
