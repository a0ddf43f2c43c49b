#include "view/api.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "view/http.h"

namespace loupe::view {
namespace {

using Json = nlohmann::ordered_json;

/// The version of the answers to programs; it increases if a member is removed or changes its meaning.
constexpr int api_version = 1;

std::string answer_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The folder as the list shows it, without a leading "/", "./" or "..": clients resolve ".." in addresses.
std::string_view place_of(const FoundRun& run) {
  std::string_view place = run.shown;
  while (place.substr(0, 2) == "./") place.remove_prefix(2);
  if (place == "." || place == ".." || place.substr(0, 3) == "../") place = run.folder.native();
  while (place.substr(0, 1) == "/") place.remove_prefix(1);
  return place;
}

std::string encoded(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  constexpr char digits[] = "0123456789ABCDEF";
  std::string all;
  for (const char each : text) {
    if (plain.find(each) != std::string_view::npos) {
      all += each;
    } else {
      const auto byte = static_cast<std::uint8_t>(each);
      ((all += '%') += digits[byte >> 4]) += digits[byte & 15];
    }
  }
  return all;
}

/// A row of the page's list, without the members that only the page uses.
Json row_of(const RunsSnapshot::Run& run) {
  Json row = Json::parse(*run.json);
  Json told;
  for (const char* name :
       {"address", "report",  "name",    "folder", "tags", "note",   "archived", "state",    "why",    "resumed",
        "started", "written", "seconds", "epoch",  "step", "losses", "curve",    "settings", "judged", "findings"}) {
    told[name] = std::move(row.at(name));
  }
  return told;
}

}  // namespace

std::string api_address(const FoundRun& run) {
  return std::string(api_runs) + '/' + encoded(place_of(run));
}

std::string report_address(const FoundRun& run) {
  return "/report?run=" + encoded(run.shown);
}

bool is_api_of_run(std::string_view path) {
  return path.size() > api_runs.size() && path.substr(0, api_runs.size()) == api_runs && path[api_runs.size()] == '/';
}

std::string api_notes(const RunNotes& notes) {
  Json told{{"version", api_version}};
  put_notes(told, notes);
  return answer_of(told);
}

std::string api_list(const RunsSnapshot& told) {
  Json runs = Json::array();
  for (const auto& [number, run] : told.runs) runs.push_back(row_of(run));
  return answer_of({{"version", api_version}, {"runs", std::move(runs)}, {"left_out", told.left_out}});
}

const RunsSnapshot::Run* api_run_at(const RunsSnapshot& told, std::string_view path) {
  const std::string place = decoded_path(path.substr(api_runs.size() + 1));
  for (const auto& [number, run] : told.runs) {
    if (place_of(run.place) == place) return &run;
  }
  return nullptr;
}

std::string api_run(const RunsSnapshot::Run& run, const FindingsOf& findings_of) {
  Json findings = Json::parse(findings_of(run.place.record().string()));
  return answer_of({{"version", api_version}, {"run", row_of(run)}, {"findings", std::move(findings)}});
}

}  // namespace loupe::view
