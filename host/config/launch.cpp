#include "config/launch.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace loupe {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const char* end = text + std::strlen(text);
  int number = 0;
  const auto read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

Launch Launch::from_environment() {
  static constexpr const char* variables[][2] = {{"RANK", "WORLD_SIZE"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank_name, size_name] : variables) {
    const auto rank = number_in(rank_name), size = number_in(size_name);
    if (rank && size && *rank >= 0 && *rank < *size) return {*rank, *size};
  }
  return {};
}

std::string Launch::folder_in(const std::string& directory) const {
  if (shows()) return directory;
  return directory + (directory.empty() ? "" : "/") + "rank-" + std::to_string(rank);
}

}  // namespace loupe
