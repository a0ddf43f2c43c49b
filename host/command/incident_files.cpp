#include "command/incident_files.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>

#include <filesystem>
#include <iomanip>
#include <sstream>
#include <system_error>
#include <utility>

#include "config/yaml_text.h"
#include "core/bounds.h"
#include "core/run_folder.h"
#include "core/text.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Json = IncidentFiles::Json;

constexpr int format = 1;
// A run stops at 32 MB of measurements, with a stream more; each line has about ten values.
constexpr std::size_t most_bytes = std::size_t{48} << 20, most_lines = 500'000, most_values = 5'000'000;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw ConfigError(file.string() + ": error: " + what + "; give a folder incident-STEP as a run wrote it");
}

std::string text_in(const fs::path& file) {
  try {
    return read_file(file, most_bytes);
  } catch (const std::system_error& reason) {
    fail(file, "this cannot be read: " + reason.code().message());
  } catch (const Error& reason) {
    fail(file, std::string("this cannot be read: ") + reason.what());
  }
}

/// What is no JSON has the type `discarded`.
Json json_in(const fs::path& file, const std::string& text) try {
  return parse_bounded<Json>(text, nullptr, /*allow_exceptions=*/false);
} catch (const Error& reason) {
  fail(file, reason.what());
}

Json read_json(const fs::path& file) {
  Json json = json_in(file, text_in(file));
  if (!json.is_object()) fail(file, "this was cut off, or is no JSON");
  return json;
}

std::vector<Json> read_lines(const fs::path& file) {
  std::istringstream stream(text_in(file));
  std::vector<Json> lines;
  std::size_t values = 0;
  for (std::string text; std::getline(stream, text);) {
    // The last line of a full disk.
    Json line = json_in(file, text);
    values += line.size();
    if (lines.size() >= most_lines || values > most_values)
      fail(file, "this has more than a run writes, from line " + std::to_string(lines.size() + 1) + " on");
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
  try {
    files.config = read_file(path / "config.yaml", max_yaml_bytes);
  } catch (const std::exception&) {
    // One that is not there, or none that Loupe would take.
  }
  return files;
}

}  // namespace loupe
