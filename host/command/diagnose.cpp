#include "command/diagnose.h"

#include <loupe/number_text.h>
#include <loupe/words.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "replay/finding_history.h"
#include "replay/record_reader.h"

namespace loupe {
namespace {

using Json = nlohmann::ordered_json;
using replay::FindingHistory;
using replay::RecordLine;

/// What a record says of how its run went.
struct Diagnosis {
  std::string record;
  replay::RecordedRun run;
  FindingHistory findings;
  std::optional<RecordLine> ending;
  double last_epoch = 0;
  bool cut_off = false;
};

Diagnosis read(const std::string& record) {
  replay::RecordReader reader(record);
  Diagnosis diagnosis;
  diagnosis.record = record;
  diagnosis.run = reader.run();
  for (RecordLine line; reader.next(line);) {
    diagnosis.ending.reset();
    if (line.kind == RecordLine::Kind::run) diagnosis.findings.go_on();
    if (line.kind == RecordLine::Kind::finding) diagnosis.findings.take(line);
    if (line.kind == RecordLine::Kind::tick) diagnosis.last_epoch = line.epoch;
    if (line.kind == RecordLine::Kind::end) diagnosis.ending = line;
  }
  diagnosis.cut_off = reader.cut_off();
  return diagnosis;
}

std::string ending_of(const Diagnosis& diagnosis) {
  const std::string after = " after epoch " + number_text(diagnosis.last_epoch);
  if (!diagnosis.ending) return "running, or stopped without a word," + after;
  const RecordLine& ending = *diagnosis.ending;
  const std::string how = ending.how == 0 ? "ended, nobody knows how," : word_of(ending_words, ending.how);
  return how + after + (ending.message.empty() ? "" : ": " + ending.message);
}

/// Text of a record on a terminal: without what would steer it.
std::string harmless(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return text;
}

std::string span(const RecordLine& finding) {
  const std::string first = number_text(finding.first_epoch), last = number_text(finding.last_epoch);
  const std::string epochs = first == last ? "epoch " + first : "epochs " + first + " to " + last;
  return epochs + (finding.count > 1 ? ", seen " + std::to_string(finding.count) + " times" : "");
}

void tell(const Diagnosis& diagnosis, std::ostream& out) {
  out << harmless(diagnosis.run.name) << " (" << diagnosis.record << "): " << harmless(ending_of(diagnosis)) << "\n";
  if (diagnosis.findings.empty()) {
    constexpr int first_format_with_findings = 3;
    const bool none = diagnosis.run.format >= first_format_with_findings;
    out << (none ? "  no findings\n" : "  no findings: this record is older than findings are\n");
  }
  for (const FindingHistory::Entry* each : diagnosis.findings.worst_first()) {
    const std::string place = each->place();
    out << "  " << word_of(severity_words, each->last.severity) << (each->gone ? ", gone" : "") << ": "
        << harmless((place.empty() ? "" : place + ": ") + each->last.message) << " (" << harmless(each->last.rule)
        << ", " << span(each->last) << ")\n";
    if (!each->last.advice.empty()) out << "    advice: " << harmless(each->last.advice) << "\n";
  }
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
Json number_or_null(double number) {
  if (std::isnan(number)) return nullptr;
  if (const char* name = non_finite_name(number)) return name;
  return number;
}

Json as_json_row(const Diagnosis& diagnosis, const FindingHistory::Entry& entry) {
  const RecordLine& finding = entry.last;
  return {{"record", diagnosis.record},
          {"run", diagnosis.run.name},
          {"severity", word_of(severity_words, finding.severity)},
          {"worst_severity", word_of(severity_words, entry.worst_severity)},
          {"gone", entry.gone},
          {"rule", finding.rule},
          {"layer", text_or_null(finding.layer)},
          {"parameter", text_or_null(finding.parameter)},
          {"message", finding.message},
          {"advice", text_or_null(finding.advice)},
          {"tag", text_or_null(finding.tag)},
          {"source", text_or_null(finding.source)},
          {"value", number_or_null(finding.value)},
          {"threshold", number_or_null(finding.threshold)},
          {"first_step", finding.first_step},
          {"last_step", finding.last_step},
          {"first_epoch", number_or_null(finding.first_epoch)},
          {"last_epoch", number_or_null(finding.last_epoch)},
          {"count", finding.count}};
}

}  // namespace

CLI::App* Diagnose::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand(
      "diagnose", "What was found to be wrong with past runs, the worst first; exits with 1 when there was an error");
  subcommand->add_option("records", records, "The records, such as runs/digits/record.jsonl")->required();
  subcommand->add_flag("--json", as_json, "An array with a row a finding, as the record has it, of all records");
  return subcommand;
}

bool Diagnose::run(std::ostream& out, std::ostream& errors) const {
  std::vector<Diagnosis> diagnoses;
  for (const std::string& record : records) {
    diagnoses.push_back(read(record));
    if (diagnoses.back().cut_off)
      errors << "loupe: warning: '" << record << "' ends with a line that was cut off, which is left out\n";
  }
  bool sound = true;
  Json rows = Json::array();
  for (const Diagnosis& diagnosis : diagnoses) {
    for (const FindingHistory::Entry* each : diagnosis.findings.worst_first()) {
      sound = sound && each->worst_severity < LOUPE_SEVERITY_ERROR;
      if (as_json) rows.push_back(as_json_row(diagnosis, *each));
    }
    if (!as_json) tell(diagnosis, out);
  }
  if (as_json) out << rows.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  return sound;
}

}  // namespace loupe
