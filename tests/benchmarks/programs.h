// What `loupe run` costs a program beside what an inspector costs it: the same program in three processes in turn.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace loupe::bench {

inline double microseconds_of(const std::string& command) {
  std::FILE* output = popen(command.c_str(), "r");
  double value = 0;
  const bool is_read = output != nullptr && std::fscanf(output, "%lf", &value) == 1;
  if (output == nullptr || pclose(output) != 0 || !is_read) throw std::runtime_error("'" + command + "' failed");
  return value;
}

/// @param lenses  as YAML  @param rounds  how often each process runs; the medians are told
inline nlohmann::json measure_program(const std::string& model, const std::string& lenses, double seconds, int rounds) {
  const auto folder = std::filesystem::temp_directory_path() / ("loupe_bench_program-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string yaml = (folder / "monitor.yaml").string();
  std::ofstream(yaml) << "loupe: 1\nrun_program: {epoch: 1000000 steps}\n" << lenses;
  const std::string arguments = " " + model + " " + std::to_string(seconds) + " 2> /dev/null";
  const std::array<std::string, 3> commands = {
      LOUPE_BENCH_PROGRAM + arguments, "LOUPE_RUN_CONFIG='" + yaml + "' " LOUPE_BENCH_INSPECTED + arguments,
      LOUPE_BENCH_COMMAND " run --require --config '" + yaml + "' -- " LOUPE_BENCH_PROGRAM + arguments};
  std::array<std::vector<double>, 3> times;
  std::vector<double> more;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < commands.size(); ++i) times[i].push_back(microseconds_of(commands[i]));
    more.push_back(100 * (times[2].back() / times[1].back() - 1));
  }
  std::filesystem::remove_all(folder);
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  return {{"model", model},
          {"step_us", median(times[0])},
          {"inspector_us", median(times[1])},
          {"run_us", median(times[2])},
          {"run_more_percent", median(more)}};
}

}  // namespace loupe::bench
