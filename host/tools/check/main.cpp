// `loupe check`: holds plugins to the rules of the boundary.

#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "check/examiner.h"
#include "check/rule.h"
#include "command/tool.h"
#include "command/usage_error.h"

namespace loupe {
namespace {

void print_rules(std::ostream& out) {
  out << "of the file\n";
  for (const check::Rule& rule : check::file_rules())
    out << "  " << std::left << std::setw(21) << rule.name << rule.meaning << "\n";
  out << "of each component\n";
  for (const check::Rule& rule : check::component_rules())
    out << "  " << std::left << std::setw(21) << rule.name << rule.meaning << "\n";
}

/// The other rules that the fault of a row breaks: "; for the same reason also threads, leaks".
std::string also_broken(const std::vector<check::Row>& rows, const check::Row& first) {
  std::string names;
  for (const check::Row& row : rows) {
    if (row.component == first.component && row.same_as == first.rule) names += (names.empty() ? "" : ", ") + row.rule;
  }
  return names.empty() ? "" : "; for the same reason also " + names;
}

void print_rows(const std::string& file, const std::vector<check::Row>& rows, std::ostream& out) {
  out << file << "\n";
  const std::string* component = nullptr;
  for (const check::Row& row : rows) {
    if (!row.component.empty() && (component == nullptr || *component != row.component))
      out << "  " << row.component << "\n";
    component = &row.component;
    if (!row.same_as.empty()) continue;  // one fault, one line
    out << (row.component.empty() ? "  " : "    ") << (row.passed ? "ok      " : "BROKEN  ") << std::left
        << std::setw(22) << row.rule << row.detail << also_broken(rows, row) << "\n";
  }
}

void need_plugin(const std::string& file) {
  if (!std::filesystem::exists(file)) throw UsageError("there is no file '" + file + "'");
  if (std::filesystem::is_directory(file))
    throw UsageError("'" + file + "' is a folder; name the plugins in it, such as '" + file + "/my_lens.so'");
  const std::string extension = std::filesystem::path(file).extension().string();
  if (extension == ".yaml" || extension == ".yml")
    throw UsageError("'" + file + "' is not a plugin; run 'loupe validate " + file + "' to check a configuration");
}

void need_map(const std::string& options) try {
  if (!options.empty() && !YAML::Load(options).IsMap())
    throw UsageError("--options takes a map in YAML, such as '{scale: 2}', not '" + options + "'");
} catch (const YAML::Exception& reason) {
  throw UsageError("--options '" + options + "' is not YAML: " + reason.what());
}

/// Whether the components of a file were checked. A file that is not a plugin, or cannot be loaded, has none.
bool was_looked_into(const std::vector<check::Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const check::Row& row) { return row.rule == "plugin"; });
}

nlohmann::json as_json_row(const check::Row& row) {
  return {{"file", row.file},     {"component", row.component},
          {"rule", row.rule},     {"passed", row.passed},
          {"detail", row.detail}, {"same_as", row.same_as.empty() ? nlohmann::json() : nlohmann::json(row.same_as)}};
}

/// Returns whether every rule is kept. Throws UsageError for a missing file.
bool check_plugins(const Check& command, std::ostream& out) {
  if (command.only_rules) {
    print_rules(out);
    return true;
  }
  if (command.files.empty()) throw UsageError("no plugin is named; run 'loupe check FILE.so', or with --help for more");
  for (const std::string& file : command.files) need_plugin(file);
  need_map(command.options);
  std::size_t broken = 0;
  bool complete = true;
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& file : command.files) {
    const std::vector<check::Row> rows = check::examine_plugin(file, command.options, command.seconds);
    broken += static_cast<std::size_t>(std::count_if(
        rows.begin(), rows.end(), [](const check::Row& row) { return !row.passed && row.same_as.empty(); }));
    complete = complete && was_looked_into(rows);
    if (command.as_json) {
      for (const check::Row& row : rows) all.push_back(as_json_row(row));
    } else {
      print_rows(file, rows, out);
    }
  }
  if (command.as_json) {
    out << all.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    out << (broken == 0 ? "every rule is kept"
                        : std::to_string(broken) + (broken == 1 ? " fault" : " faults") + " found" +
                              (complete ? "" : "; the other rules can be checked after a fix"))
        << "\n";
  }
  return broken == 0;
}

}  // namespace
}  // namespace loupe

int main(int count, char** arguments) {
  loupe::Check command;
  return loupe::tool_main(
      count, arguments, [&](CLI::App& app) { return command.add_to(app); },
      [&](loupe::Outputs& outputs) {
        return loupe::check_plugins(command, command.as_json ? outputs.plain : outputs.wrapped) ? 0 : 1;
      });
}
