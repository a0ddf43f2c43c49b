#include "csv/csv_row.h"

#include <charconv>

#include "common/number_text.h"
#include "common/utf8.h"

namespace loupe::csv {
namespace {

std::string field(const std::string& name) {
  const std::string text = valid_utf8(name);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

std::string beginning(double epoch, const char* tag, const char* layer, const std::string& line) {
  return number_text(epoch) + ',' + field(tag) + ',' + field(layer) + ',' + field(line) + ',';
}

}  // namespace

std::string value_row(double epoch, const Value& value) {
  return beginning(epoch, value.tag, value.layer, value.line) + number_text(value.value) + ",,\n";
}

std::string range_row(double epoch, const Range& range) {
  const std::string line = std::string(range.low_name) + ".." + range.high_name;
  return beginning(epoch, range.tag, range.layer, line) + ',' + number_text(range.low) + ',' + number_text(range.high) +
         '\n';
}

bool read_row(std::istream& input, OldLine& line) {
  line = {};
  bool quoted = false;
  for (std::string part; std::getline(input, part);) {
    if (input.eof()) return false;
    line.text += part + '\n';
    for (const char character : part) quoted = quoted != (character == '"');
    if (quoted) continue;  // a line end within a name
    double epoch = 0;
    const auto parsed = std::from_chars(line.text.data(), line.text.data() + line.text.size(), epoch);
    if (parsed.ec == std::errc() && *parsed.ptr == ',') line.epoch = epoch;
    line.closes_epoch = line.epoch.has_value();
    return true;
  }
  return false;
}

}  // namespace loupe::csv
