#include "csv/csv_row.h"

#include <loupe/files/readable.h>
#include <loupe/finding.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <utf8.h>

#include <charconv>
#include <cmath>
#include <cstdint>
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
  std::string text = utf8::replace_invalid(name);
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

std::string moment_fields(const std::string& run, const Tick& tick) {
  const std::string time = tick.at.time > 0 ? number_text(tick.at.time) : "";
  return ',' + field(run) + ',' + (tick.at.step > 0 ? std::to_string(tick.at.step) : "") + ',' + time;
}

std::string value_row(double epoch, const RowValue& value, const std::string& moment) {
  return beginning(epoch, value.tag, layer_of(value), value.line) + number_text(value.value) + ",," + moment + '\n';
}

std::string range_row(double epoch, const RowRange& range, const std::string& moment) {
  const std::string line = std::string(range.low_name) + ".." + range.high_name;
  return beginning(epoch, range.tag, layer_of(range), line) + ',' + number_text(range.low) + ',' +
         number_text(range.high) + moment + '\n';
}

std::string finding_row(double epoch, const loupe_finding& finding) {
  const auto text = [](const char* given) { return ',' + field(text_of(given)); };
  const auto number = [](std::optional<double> given) { return ',' + (given ? number_text(*given) : ""); };
  const auto whole = [](std::uint64_t given) { return ',' + std::to_string(given); };
  return number_text(epoch) + ',' + word_of(severity_words, finding.severity) + ',' +
         word_of(finding_state_words, finding.state) + text(finding.rule) + text(layer_of(finding)) +
         text(finding.parameter) + text(finding.message) + text(finding.advice) + text(finding.tag) +
         text(finding.source) + number(value_of(finding)) + number(threshold_of(finding)) + whole(finding.first_step) +
         whole(finding.last_step) + number(finding.first_epoch) + number(finding.last_epoch) + whole(finding.count) +
         whole(finding.id) + text(finding.caused_by) + text(finding.file) + ',' +
         (finding.line > 0 ? std::to_string(finding.line) : "") + '\n';
}

bool read_row(std::istream& input, OldLine& line) {
  line = {};
  bool quoted = false;
  for (std::string part; !is_too_long(line.text);) {
    const bool is_whole = read_line(input, part) && !input.eof();
    line.text += part;
    if (!is_whole) return false;
    line.text += '\n';
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
