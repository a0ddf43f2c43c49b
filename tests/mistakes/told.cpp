#include "mistakes/told.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "examples/process.h"

namespace loupe::test {

std::string told_by_command(const std::string& arguments) {
  return run(std::string("LOUPE_PLUGIN_PATH=" LOUPE_BUILT_PLUGINS " '" LOUPE_COMMAND "' ") + arguments, fresh_folder())
      .output;
}

std::string told_by_check(const std::string& plugin) {
  const std::string told = told_by_command("check --json --timeout 5 '" LOUPE_FAULTY_PLUGINS "/" + plugin + ".so'");
  const auto rows = nlohmann::json::parse(told, nullptr, false);
  if (!rows.is_array()) return told;
  std::string broken;
  for (const auto& row : rows) {
    if (row.at("passed").get<bool>()) continue;
    broken += row.at("rule").get<std::string>() + ": " + row.at("detail").get<std::string>() + "\n";
  }
  return broken;
}

std::string told_by_validate(const std::string& yaml) {
  const std::filesystem::path folder = fresh_folder();
  std::ofstream(folder / "a.yaml") << yaml;
  return run("LOUPE_PLUGIN_PATH=" LOUPE_BUILT_PLUGINS " '" LOUPE_COMMAND "' validate a.yaml", folder).output;
}

}  // namespace loupe::test
