#include "command/value_table.h"

#include <loupe/text/number_text.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "record/record_reader.h"

namespace loupe {
namespace {

/// Quoted where it must be. A spreadsheet takes what begins with some characters for a formula, and the names in a
/// record may be anybody's.
std::string field(const std::string& name) {
  const bool is_formula = !name.empty() && std::string_view("=+-@\t\r").find(name[0]) != std::string_view::npos;
  const std::string text = (is_formula ? "'" : "") + name;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char each : text) quoted += each == '"' ? std::string("\"\"") : std::string(1, each);
  return quoted + '"';
}

void write_record(const std::string& record, const std::string& name, std::ostream& out, std::ostream& errors) {
  replay::RecordReader reader(record);
  // The step comes with the line that ends an epoch.
  std::vector<std::pair<std::string, std::string>> rows;
  for (replay::RecordLine line; reader.next(line);) {
    if (line.kind == replay::RecordLine::Kind::run) rows.clear();
    if (line.kind == replay::RecordLine::Kind::value)
      rows.emplace_back(field(name) + ',' + field(line.tag) + ',' + field(line.layer) + ',' + field(line.line) + ',' +
                            number_text(line.epoch) + ',',
                        ',' + number_text(line.value) + '\n');
    if (line.kind != replay::RecordLine::Kind::tick) continue;
    for (const auto& [before, after] : rows) out << before << line.step << after;
    rows.clear();
  }
  const char* cut_off = reader.cut_off() != nullptr ? reader.cut_off() : rows.empty() ? nullptr : "an epoch";
  if (cut_off != nullptr)
    errors << "loupe: warning: '" << record << "' ends with " << cut_off << " that was cut off, which is left out\n";
}

}  // namespace

void write_value_table(const std::vector<std::string>& records, const std::vector<std::string>& names,
                       std::ostream& out, std::ostream& errors) {
  out << "run,tag,layer,line,epoch,step,value\n";
  for (std::size_t i = 0; i < records.size(); ++i) write_record(records[i], names[i], out, errors);
}

}  // namespace loupe
