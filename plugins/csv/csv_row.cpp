#include "csv/csv_row.h"

#include <loupe/number_text.h>
#include <loupe/utf8.h>

#include <charconv>
#include <string_view>

namespace loupe::csv {
namespace {

/// A spreadsheet takes a cell that begins so for a formula, and a module's name for a command.
bool begins_a_formula(const std::string& text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
}

bool is_number(const std::string& text) {
  double number = 0;
  const std::size_t sign = text[0] == '+' ? 1 : 0;
  const auto parsed = std::from_chars(text.data() + sign, text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

std::string field(const std::string& name) {
  std::string text = valid_utf8(name);
  if (begins_a_formula(text) && !is_number(text)) text.insert(0, 1, '\'');
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
  return beginning(epoch, value.tag, layer_of(value), value.line) + number_text(value.value) + ",,\n";
}

std::string range_row(double epoch, const Range& range) {
  const std::string line = std::string(range.low_name) + ".." + range.high_name;
  return beginning(epoch, range.tag, layer_of(range), line) + ',' + number_text(range.low) + ',' +
         number_text(range.high) + '\n';
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
