#include "config/launch.h"

#include <loupe/internal/bounds.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace loupe {
namespace {

std::optional<int> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const char* end = text + std::strlen(text);
  int number = 0;
  const auto read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

Launch Launch::from_environment() {
  return from([](const char* name) { return std::getenv(name); });
}

Launch Launch::from(const Environment& environment) {
  static constexpr const char* names[][2] = {{"RANK", "WORLD_SIZE"},
                                             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                             {"PMI_RANK", "PMI_SIZE"},
                                             {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank_name, size_name] : names) {
    const auto rank = number_in(environment(rank_name)), size = number_in(environment(size_name));
    if (rank && size && *rank >= 0 && *rank < *size && *size <= most_ranks) return {*rank, *size};
  }
  return {};
}

std::string Launch::folder_in(const std::string& directory) const {
  if (shows()) return directory;
  return directory + (directory.empty() ? "" : "/") + "rank-" + std::to_string(rank);
}

}  // namespace loupe
