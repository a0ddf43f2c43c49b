#include "command/commands.h"

#include <loupe/files/replacement.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include "command/records.h"
#include "command/usage_error.h"
#include "health/baseline/baseline.h"
#include "record/reader/finding_history.h"
#include "record/reader/record_reader.h"

namespace loupe {
namespace {

using replay::RecordLine;

struct Learned {
  health::Baseline::Run run;
  std::set<std::string> shares;  // tags
  double last_epoch = 0;
  bool had_error = false;
  const char* cut_off = nullptr;  // "a line", …
};

/// Whether the unit measures the speed of the machine, which does not depend on the model.
bool is_of_the_machine(const std::string& unit) {
  return unit == "s" || unit == "ms" || unit.find("/s") != std::string::npos;
}

Learned read(const std::string& record, ReadingProgress& progress) {
  Learned learned;
  replay::RecordReader reader(record);
  std::set<std::string> left_out = {"Non-Finite Values"};
  replay::FindingHistory findings;
  for (RecordLine line; reader.next(line);) {
    progress.take(line);
    if (line.kind == RecordLine::Kind::tag && is_of_the_machine(line.unit)) left_out.insert(line.tag);
    if (line.kind == RecordLine::Kind::tag && line.tag_type == LOUPE_SCALE_PROBABILITY) learned.shares.insert(line.tag);
    if (line.kind == RecordLine::Kind::finding) findings.take(line);
    if (line.kind == RecordLine::Kind::tick) learned.last_epoch = line.epoch;
    if (line.kind != RecordLine::Kind::value || line.step != 0 || left_out.count(line.tag) != 0) continue;
    learned.run[{line.tag, line.layer, line.line}][line.epoch] = line.value;
  }
  for (const auto* each : findings.worst_first())
    learned.had_error = learned.had_error || each->worst_severity >= LOUPE_SEVERITY_ERROR;
  learned.cut_off = reader.cut_off();
  return learned;
}

void check(const std::vector<std::string>& records, const std::string& file) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::error_code no_matter;
    const auto is_same = [&](const std::string& other) {
      return other == records[i] ||
             std::filesystem::equivalent(text_file_at(other), text_file_at(records[i]), no_matter);
    };
    if (is_same(file)) throw UsageError("'" + file + "' would overwrite a record; give --out another name");
    if (std::any_of(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(i), is_same))
      throw UsageError("'" + records[i] + "' is named twice, and a run counts once");
  }
  if (replay::is_record(file)) throw UsageError("'" + file + "' would overwrite a record; give --out another name");
}

void write(const std::string& file, const std::string& text) {
  try {
    Replacement replacement(followed(file));
    replacement.write(text);
    replacement.commit(false);
  } catch (const std::system_error& e) {
    throw std::runtime_error("'" + file + "' cannot be written: " + reason_of(e) +
                             "; name a file with --out in a folder that you may write to");
  }
}

void tell_lengths(const std::vector<Learned>& runs, std::ostream& errors) {
  const auto [shortest, longest] = std::minmax_element(
      runs.begin(), runs.end(), [](const Learned& a, const Learned& b) { return a.last_epoch < b.last_epoch; });
  if (shortest->last_epoch == longest->last_epoch) return;
  errors << "loupe: warning: the records end between epoch " << number_text(shortest->last_epoch) << " and "
         << number_text(longest->last_epoch) << "; later epochs have fewer runs, and so wider ranges\n";
}

void tell_lacking(const std::vector<Learned>& runs, std::ostream& errors) {
  std::set<health::Baseline::Key> all;
  for (const Learned& learned : runs) {
    for (const auto& [key, values] : learned.run) all.insert(key);
  }
  const auto lacking = std::count_if(all.begin(), all.end(), [&](const health::Baseline::Key& key) {
    return std::any_of(runs.begin(), runs.end(), [&](const Learned& learned) { return learned.run.count(key) == 0; });
  });
  if (lacking == 0) return;
  errors << "loupe: warning: " << lacking << " of " << all.size()
         << " series are not in every record; are all of the same model and configuration?\n";
}

}  // namespace

CLI::App* Learn::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand(
      "learn",
      "Learn the normal range of each series from good runs, for 'health: {baseline: FILE}' and 'diagnose --baseline'");
  subcommand
      ->add_option("records", records,
                   "Folders of good runs, or their records, for example runs/*; more runs give narrower limits")
      ->required()
      ->type_name("FILE");
  subcommand->add_option("--out", file, "File to write, for example baseline.json")->required()->type_name("FILE");
  add_force(*subcommand, force);
  return subcommand;
}

void Learn::run(std::ostream& out, std::ostream& errors) const {
  const std::vector<std::string> files = record_files(records);
  check(files, file);
  keep_existing(file, "learn", force);
  std::vector<Learned> learned;
  std::vector<health::Baseline::Run> runs;
  std::set<std::string> shares;
  ReadingProgress progress(files.size());
  for (const std::string& record : files) {
    progress.begin(record);
    learned.push_back(read(record, progress));
    if (learned.back().cut_off != nullptr || learned.back().had_error) progress.clear();
    if (learned.back().cut_off != nullptr)
      errors << "loupe: warning: '" << record << "' ends with " << learned.back().cut_off
             << " that was cut off, which is left out\n";
    if (learned.back().had_error)
      errors << "loupe: warning: '" << record << "' has findings that are errors; is it from a good run?\n";
    if (learned.back().run.empty()) throw UsageError("'" + record + "' has no values to learn from");
    runs.push_back(learned.back().run);
    shares.insert(learned.back().shares.begin(), learned.back().shares.end());
  }
  progress.clear();
  tell_lengths(learned, errors);
  tell_lacking(learned, errors);
  constexpr std::size_t few = 3;
  if (runs.size() < few)
    errors << "loupe: warning: " << runs.size() << (runs.size() == 1 ? " run is" : " runs are")
           << " too few to learn much from, so the baseline is wide; give it " << few << " or more\n";
  const health::Baseline baseline = health::Baseline::of(runs, shares);
  write(file, baseline.text());
  out << "wrote " << file << ": " << baseline.series_count() << " series of " << runs.size()
      << (runs.size() == 1 ? " run" : " runs") << " in " << baseline.phase_count() << " phases\n";
}

}  // namespace loupe
