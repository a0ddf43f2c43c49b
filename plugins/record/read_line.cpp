// Reads the record of an earlier run that a resumed run continues.

#include <loupe/files/readable.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "record/written_line.h"

namespace loupe::record {
namespace {

void take(OldLine& line, std::string_view kind, std::optional<double> epoch) {
  line.epoch = epoch;
  line.closes_epoch = kind == "tick";
  line.stands_alone = kind == "finding" || kind == "note" || kind == "end";
}

// Recognizes lines in exactly the form that JsonLine writes, without a parser: parsing a long record takes long.
bool read_own(OldLine& line) {
  constexpr std::string_view before_kind = "{\"kind\":\"", before_epoch = "\",\"epoch\":";
  const std::string_view text = line.text;
  if (text.substr(0, before_kind.size()) != before_kind) return false;
  const std::size_t end = text.find('"', before_kind.size());
  if (end == std::string_view::npos || text.substr(end, before_epoch.size()) != before_epoch) return false;
  double epoch = 0;
  const auto parsed = std::from_chars(text.data() + end + before_epoch.size(), text.data() + text.size(), epoch);
  if (parsed.ec != std::errc()) return false;
  take(line, text.substr(before_kind.size(), end - before_kind.size()), epoch);
  return true;
}

/// The same for any other line. Keeps only the numbers and texts of the outermost object, because records are long.
void read_other(OldLine& line) {
  using Json = nlohmann::json;
  const auto is_kept = [](int depth, Json::parse_event_t event, const Json&) {
    return depth == 0 || (event != Json::parse_event_t::object_start && event != Json::parse_event_t::array_start);
  };
  const Json json = Json::parse(line.text, is_kept, /*allow_exceptions=*/false);
  if (!json.is_object()) return take(line, "", std::nullopt);
  const auto kind = json.find("kind"), epoch = json.find("epoch");
  take(line, kind != json.end() && kind->is_string() ? kind->get_ref<const std::string&>() : std::string(),
       epoch != json.end() && epoch->is_number() ? std::optional(epoch->get<double>()) : std::nullopt);
}

}  // namespace

bool read_old_line(std::istream& input, OldLine& line) {
  if (!read_line(input, line.text) || input.eof()) return false;
  if (!read_own(line)) read_other(line);
  line.text += '\n';
  return true;
}

}  // namespace loupe::record
