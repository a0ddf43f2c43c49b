#include "command/incident_files.h"

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <utility>

#include "core/run_folder.h"
#include "core/utf8.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Json = IncidentFiles::Json;

constexpr int format = 1;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw ConfigError(file.string() + ": error: " + what + "; give a folder incident-STEP as a run wrote it");
}

Json read_json(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "this cannot be read");
  const Json json = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail(file, "this was cut off, or is no JSON");
  return json;
}

std::vector<Json> read_lines(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "this cannot be read");
  std::vector<Json> lines;
  for (std::string text; std::getline(stream, text);) {
    // The last line of a full disk.
    Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_object()) {
      lines.push_back(std::move(line));
    } else if (!stream.eof()) {
      fail(file, "line " + std::to_string(lines.size() + 1) + " is no JSON object");
    }
  }
  return lines;
}

}  // namespace

std::string text_of(const IncidentFiles::Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || !found->is_string() ? "" : printable_line(found->get<std::string>());
}

std::string number_of(const IncidentFiles::Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return "";
  if (found->is_string()) return printable_line(found->get<std::string>());
  if (found->is_number_integer()) return std::to_string(found->get<int64_t>());
  if (!found->is_number()) return "?";
  std::ostringstream text;
  text << std::setprecision(4) << found->get<double>();
  return text.str();
}

std::string cause_of(const IncidentFiles::Json& about) {
  const std::string how = text_of(about, "how"), rule = text_of(about, "rule"), layer = text_of(about, "layer");
  if (how == "finding") return "because of the finding '" + rule + "'" + (layer.empty() ? "" : " at '" + layer + "'");
  if (how == "dump") return "because the trainer asked for it";
  if (how == "terminate") return "because the program ended by std::terminate";
  return "because of " + how;
}

bool is_incident(const std::string& folder) {
  std::error_code no_matter;
  if (!fs::is_directory(folder, no_matter)) return false;
  const fs::path path = fs::path(folder).lexically_normal();
  const std::string name = (path.filename().empty() ? path.parent_path() : path).filename().string();
  return fs::exists(path / "about.json", no_matter) || name.rfind(incident_folder_prefix, 0) == 0;
}

IncidentFiles read_incident(const std::string& folder) {
  const fs::path path(folder);
  IncidentFiles files;
  files.about = read_json(path / "about.json");
  if (text_of(files.about, "kind") != "incident") fail(path / "about.json", "this is of no incident");
  if (number_of(files.about, "format") != std::to_string(format)) {
    fail(path / "about.json", "this incident is of format " + number_of(files.about, "format") +
                                  ", and this Loupe reads format " + std::to_string(format));
  }
  files.findings = read_lines(path / "findings.jsonl");
  files.lines = read_lines(path / "measurements.jsonl");
  std::ifstream config(path / "config.yaml", std::ios::binary);
  files.config.assign(std::istreambuf_iterator<char>(config), std::istreambuf_iterator<char>());
  return files;
}

}  // namespace loupe
