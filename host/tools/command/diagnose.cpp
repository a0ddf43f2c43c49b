#include "command/commands.h"

#include <loupe/detail/run_state.h>
#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/internal/bounds.h>
#include <loupe/internal/message_json.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "command/recorded_rules.h"
#include "command/records.h"
#include "command/wrapped_output.h"
#include "core/text.h"
#include "health/baseline/baseline.h"
#include "loupe/config_error.h"
#include "record/reader/record_reader.h"
#include "record/run_summary.h"
#include "view/run_state.h"

namespace loupe {
namespace {

using Json = nlohmann::ordered_json;
using replay::FindingHistory;
using replay::RecordLine;

/// The contents of a record that describe the run.
struct Diagnosis {
  std::string record;
  replay::RunSummary summary;
  const char* cut_off = nullptr;  ///< "a line", …
  bool watched = false;           ///< the lens health watched it
  std::optional<double> first_epoch;
  std::vector<std::string> judged, not_judged;
  std::string lacking;                  ///< series that the baseline does not have
  std::string unobserved;               ///< parts that the run reports as not observed
  std::size_t other_ranks = 0;          ///< the number of following records of the same run
  std::vector<std::string> rank_notes;  ///< the notes of the run on its ranks
};

/// Values of a run outside the range of good runs.
class Comparison {
 public:
  Comparison(const health::Baseline& baseline, int patience, std::string record)
      : watch_(baseline, patience), record_(std::move(record)) {}

  void take(const RecordLine& line, FindingHistory& findings) {
    if (line.kind == RecordLine::Kind::value && line.step == 0) watch_.add(line.tag, line.layer, line.line, line.value);
    if (line.kind != RecordLine::Kind::tick) return;
    for (const Finding& each : watch_.end_tick(line.epoch)) {
      if (watch_.is_of_another_model()) throw ConfigError(record_ + ": error: " + each.message + "; " + each.advice);
      findings.take(RecordedRules::line_of(each, line));
    }
    if (lacking_.empty()) lacking_ = watch_.take_lacking();
  }
  const std::string& lacking() const { return lacking_; }

 private:
  health::BaselineWatch watch_;
  std::string record_, lacking_;
};

/// Adds findings that the run itself did not report.
void add_judged(RecordedRules& rules, FindingHistory& findings) {
  std::set<std::string> recorded;
  for (const FindingHistory::Entry* each : findings.worst_first()) recorded.insert(each->last.rule);
  for (const RecordLine& line : rules.take_findings()) {
    if (recorded.count(line.rule) == 0) findings.take(line);
  }
}

Diagnosis read(const std::string& record, const std::optional<health::Baseline>& baseline, ReadingProgress& progress) {
  replay::RecordReader reader(record);
  Diagnosis diagnosis;
  diagnosis.record = record;
  diagnosis.summary = replay::RunSummary(reader.run());
  RecordedRules rules(reader.run());
  FindingHistory departures;
  std::optional<Comparison> comparison;
  if (baseline) comparison.emplace(*baseline, rules.patience(), record);
  for (RecordLine line; reader.next(line);) {
    progress.take(line);
    if (line.kind == RecordLine::Kind::tick && !diagnosis.first_epoch) diagnosis.first_epoch = line.epoch;
    diagnosis.summary.take(line, reader.text());
    rules.take(line, reader.text());
    if (comparison) comparison->take(line, departures);
    if (line.kind == RecordLine::Kind::note && line.about == LOUPE_NOTE_UNOBSERVED)
      diagnosis.unobserved += (diagnosis.unobserved.empty() ? "" : "; ") + line.text;
    if (line.kind == RecordLine::Kind::note && line.about == LOUPE_NOTE_RANKS)
      diagnosis.rank_notes.push_back(line.text);
  }
  add_judged(rules, diagnosis.summary.findings());
  for (const FindingHistory::Entry* each : departures.worst_first()) diagnosis.summary.findings().take(each->last);
  diagnosis.watched = rules.was_watched();
  diagnosis.judged = rules.judged();
  diagnosis.not_judged = rules.not_judged();
  if (comparison) diagnosis.lacking = comparison->lacking();
  diagnosis.cut_off = reader.cut_off();
  return diagnosis;
}

view::RunStanding standing_of(const Diagnosis& diagnosis) {
  return view::standing_of(diagnosis.summary, std::filesystem::path(diagnosis.record).parent_path());
}

/// "failed after epoch 15: train_loss was NaN to the end"
std::string ending_of(const Diagnosis& diagnosis, const view::RunStanding& standing) {
  return view::words_of(standing.state) + " after epoch " + number_text(diagnosis.summary.last_epoch()) +
         (standing.why.empty() ? "" : ": " + standing.why);
}

/// "Training looks healthy. No problems found in 12 epochs." if the lens health watched the run and no error or warning
/// is open; else "".
std::string health_of(const Diagnosis& diagnosis, view::RunState state) {
  if (!diagnosis.watched || !diagnosis.first_epoch) return "";
  if (state == view::RunState::failed || state == view::RunState::crashed) return "";
  std::size_t resolved = 0;
  for (const FindingHistory::Entry* each : diagnosis.summary.findings().worst_first()) {
    if (each->last.severity < LOUPE_SEVERITY_WARNING) continue;
    if (!each->gone) return "";
    ++resolved;
  }
  return std::string("Training looks healthy") + (diagnosis.summary.ending() ? ". " : " so far. ") +
         problems_in_words(*diagnosis.first_epoch, diagnosis.summary.last_epoch(), resolved);
}

std::string span(const FindingHistory::Entry& entry) {
  const RecordLine& finding = entry.last;
  const std::string first = number_text(finding.first_epoch), last = number_text(finding.last_epoch);
  const std::string epochs = first == last ? "epoch " + first : "epochs " + first + " to " + last;
  return epochs + (entry.gone && finding.count > 1 ? ", seen " + std::to_string(finding.count) + " times" : "");
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// Prints which rules were judged: a record that lacks values is not therefore healthy.
void tell_judged(const Diagnosis& diagnosis, std::ostream& out) {
  if (diagnosis.watched || !diagnosis.summary.has_values()) return;
  out << "  the lens health did not watch this run; ";
  out << (diagnosis.judged.empty() ? "no rule could be judged from its values"
                                   : "judged from its values: " + list_of(diagnosis.judged));
  constexpr std::size_t width = 80, indent = 4;
  out << "\n  could not be judged:\n"
      << in_columns(diagnosis.not_judged, output_columns().value_or(width), indent) << "\n";
}

/// The findings of one rule with the same severity: the worst one, and the places of the others.
struct RuleFindings {
  const FindingHistory::Entry* worst;
  std::vector<std::string> further_places;
};

std::vector<RuleFindings> by_rule(const FindingHistory& findings) {
  std::vector<RuleFindings> rules;
  std::map<std::tuple<std::string, uint32_t, bool>, std::size_t> places;
  for (const FindingHistory::Entry* each : findings.worst_first()) {
    // A finding of the whole model has no place.
    if (const std::string place = each->place(); !place.empty()) {
      const auto [known, is_new] = places.try_emplace({each->last.rule, each->last.severity, each->gone}, rules.size());
      if (!is_new) {
        rules[known->second].further_places.push_back(place);
        continue;
      }
    }
    rules.push_back({each, {}});
  }
  return rules;
}

/// Lists only the first names, because a model may have thousands of layers.
std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 6;
  if (names.size() <= most) return list_of(names);
  return list_of({names.begin(), names.begin() + most}) + " and " + std::to_string(names.size() - most) +
         " more (all of them: --json)";
}

std::string message_with_place(const RecordLine& finding) {
  return loupe::message_with_place(finding.message, finding.file, static_cast<uint32_t>(finding.file_line));
}

void tell(const RuleFindings& rule, std::ostream& out) {
  const FindingHistory::Entry& entry = *rule.worst;
  const std::string place = entry.place();
  out << "  " << word_of(severity_words, entry.last.severity) << (entry.gone ? ", resolved" : "") << ": "
      << printable_line((place.empty() ? "" : place + ": ") + message_with_place(entry.last)) << " ("
      << printable_line(entry.last.rule) << ", " << span(entry) << ")\n";
  if (!rule.further_places.empty()) out << "    also in " << printable_line(first_of(rule.further_places)) << "\n";
  if (!entry.last.advice.empty()) out << "    → " << printable_line(entry.last.advice) << "\n";
}

std::string name_of(const Diagnosis& diagnosis) {
  const replay::RecordedRun& run = diagnosis.summary.run();
  if (run.world_size < 2) return run.name;
  if (is_merged(diagnosis.record)) return run.name + ", all of " + std::to_string(run.world_size) + " ranks";
  return run.name + ", rank " + std::to_string(run.rank) + " of " + std::to_string(run.world_size);
}

void tell(const Diagnosis& diagnosis, std::ostream& out) {
  const view::RunStanding standing = standing_of(diagnosis);
  const std::string health = health_of(diagnosis, standing.state);
  out << printable_line(name_of(diagnosis)) << " (" << diagnosis.record
      << "): " << printable_line(ending_of(diagnosis, standing)) << "\n";
  if (!health.empty()) {
    out << "  " << health << "\n";
  } else if (diagnosis.summary.findings().empty()) {
    constexpr int first_format_with_findings = 3;
    const bool none = diagnosis.summary.run().format >= first_format_with_findings;
    out << (none ? "  no findings\n" : "  no findings: this record was written before Loupe had findings\n");
  }
  if (!diagnosis.unobserved.empty() && (!health.empty() || diagnosis.summary.findings().empty()))
    out << "  " << printable_line(diagnosis.unobserved) << "\n";
  for (const RuleFindings& each : by_rule(diagnosis.summary.findings())) tell(each, out);
  constexpr std::size_t most_notes = 10;
  const std::size_t notes = diagnosis.rank_notes.size(), left_out = notes > most_notes ? notes - most_notes : 0;
  if (left_out > 0) out << "  ranks: the last " << most_notes << " of " << notes << " notes:\n";
  for (std::size_t i = left_out; i < notes; ++i) out << "  ranks: " << printable_line(diagnosis.rank_notes[i]) << "\n";
  tell_judged(diagnosis, out);
}

/// Findings that are known and accepted, by number.
class KnownFindings {
 public:
  /// Reads the output of `loupe diagnose --json`.
  explicit KnownFindings(const std::string& file) {
    nlohmann::json rows;
    try {
      rows = parse_bounded<nlohmann::json>(read_file(file, longest_line), nullptr, /*allow_exceptions=*/false);
    } catch (const std::system_error& reason) {
      throw ConfigError("'" + file + "' cannot be read: " + reason.code().message());
    } catch (const Error& reason) {
      throw ConfigError("'" + file + "' cannot be read: " + reason.what());
    }
    if (!rows.is_array())
      throw ConfigError("'" + file + "' is not a list of findings; make it with 'loupe diagnose RECORD --json > " +
                        file + "'");
    for (const nlohmann::json& row : rows) {
      const auto id = row.is_object() ? row.find("id") : row.end();
      if (id == row.end() || !id->is_number_unsigned())
        throw ConfigError("'" + file +
                          "' has a finding without an id, as an earlier Loupe wrote it; make it again with "
                          "'loupe diagnose RECORD --json > " +
                          file + "'");
      known_.insert(id->get<uint64_t>());
    }
  }
  bool has(const RecordLine& finding) const { return known_.count(finding.id) != 0; }

 private:
  std::set<uint64_t> known_;
};

Json as_json_row(const Diagnosis& diagnosis, const FindingHistory::Entry& entry) {
  Json row = {{"record", diagnosis.record},
              {"run", diagnosis.summary.run().name},
              {"rank", diagnosis.summary.run().rank},
              {"severity", Json()},  // filled in below
              {"worst_severity", word_of(severity_words, entry.worst_severity)},
              {"gone", entry.gone}};
  add_members(row, replay::message_of<loupe_finding>(entry.last));
  row.erase("state");  // `gone` replaces it
  return row;
}

/// Adds the differences between the ranks of a run to the findings of rank 0; their records follow its own.
void compare_ranks(std::vector<Diagnosis>& diagnoses) {
  for (auto first = diagnoses.begin(); first != diagnoses.end();) {
    const auto end = first + 1 + static_cast<std::ptrdiff_t>(first->other_ranks);
    std::vector<RankSettings> ranks;
    for (auto each = first; each != end; ++each) {
      ranks.push_back({each->summary.run().rank, each->summary.settings()});
      ranks.back().settings.emplace_back("LibTorch", each->summary.run().framework_version);
    }
    if (auto line = ranks_differ(ranks, first->summary.last_epoch())) {
      // Replace the finding that the lens `ranks` reported for the whole model: use its number.
      for (const FindingHistory::Entry* each : first->summary.findings().worst_first())
        if (each->last.rule == line->rule && each->last.layer.empty()) line->id = each->last.id;
      first->summary.findings().take(*line);
    }
    first = end;
  }
}

}  // namespace

CLI::App* Diagnose::add_to(CLI::App& app) {
  CLI::App* subcommand =
      app.add_subcommand("diagnose", "Show problems of past runs, worst first (exit code 1 if there was an error)");
  subcommand->add_option("records", records, "Folders of runs, or their records, for example runs/digits")
      ->required()
      ->type_name("FILE");
  subcommand
      ->add_option("--baseline", baseline,
                   "File that 'loupe learn' made of good runs; a departure from it is also a finding, with exit code 1")
      ->type_name("FILE");
  subcommand
      ->add_option(
          "--baseline-findings", baseline_findings,
          "File that 'loupe diagnose --json' wrote before; the exit code is then 1 for new errors and warnings, "
          "else 0")
      ->type_name("FILE");
  subcommand->add_flag("--json", as_json, "Print findings as a JSON array");
  subcommand->footer("For details of a rule: loupe explain RULE");
  return subcommand;
}

bool Diagnose::run(std::ostream& out, std::ostream& errors) const {
  std::vector<Diagnosis> diagnoses;
  std::optional<health::Baseline> good;
  try {
    if (!baseline.empty()) good = health::Baseline::read(baseline);
  } catch (const Error& reason) {
    throw ConfigError(reason.what());
  }
  std::optional<KnownFindings> known;
  if (!baseline_findings.empty()) known.emplace(baseline_findings);
  std::vector<std::string> files = record_files(records);
  ReadingProgress progress(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string record = files[i];
    progress.begin(record);
    diagnoses.push_back(read(record, good, progress));
    if (!diagnoses.back().lacking.empty() || diagnoses.back().cut_off) progress.clear();
    if (!diagnoses.back().lacking.empty()) errors << "loupe: warning: " << diagnoses.back().lacking << "\n";
    if (diagnoses.back().cut_off != nullptr)
      errors << "loupe: warning: '" << record << "' ends with " << diagnoses.back().cut_off
             << " that was cut off, which is left out\n";
    const OtherRanks others = other_ranks(record, diagnoses.back().summary.run());
    diagnoses.back().other_ranks = others.records.size();
    progress.expect(others.records.size());
    files.insert(files.begin() + static_cast<std::ptrdiff_t>(i) + 1, others.records.begin(), others.records.end());
    if (!others.lacking.empty()) progress.clear();
    if (!others.lacking.empty()) errors << "loupe: warning: " << others.lacking << "\n";
  }
  progress.clear();
  compare_ranks(diagnoses);
  bool sound = true;
  Json rows = Json::array();
  for (const Diagnosis& diagnosis : diagnoses) {
    for (const FindingHistory::Entry* each : diagnosis.summary.findings().worst_first()) {
      // A baseline tests a change of the training.
      const bool departs = good && each->last.rule == health::BaselineWatch::rule;
      const bool fails = known ? each->worst_severity >= LOUPE_SEVERITY_WARNING && !known->has(each->last)
                               : each->worst_severity >= LOUPE_SEVERITY_ERROR || departs;
      sound = sound && !fails;
      if (as_json) rows.push_back(as_json_row(diagnosis, *each));
    }
    if (!as_json) tell(diagnosis, out);
  }
  if (as_json) out << rows.dump(2, ' ', true, Json::error_handler_t::replace) << "\n";
  return sound;
}

}  // namespace loupe
