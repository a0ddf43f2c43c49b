// The visualizer `csv`: writes all numbers into one tidy table, for spreadsheets and data frames.

#include <loupe/detail/owned.h>
#include <loupe/files/epoch_file.h>
#include <loupe/files/older_epochs.h>
#include <loupe/files/output_path.h>
#include <loupe/files/readable.h>
#include <loupe/finding.h>
#include <loupe/plugin.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <loupe/visualizers/selection.h>
#include <utf8.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace loupe::csv {
namespace {

constexpr const char* heading = "epoch,tag,layer,line,value,low,high,run,step,time\n";

constexpr const char* finding_heading =
    "epoch,severity,state,rule,layer,parameter,message,advice,tag,source,value,threshold,"
    "first_step,last_step,first_epoch,last_epoch,count,id,caused_by,file,line\n";
/// Whether a spreadsheet would take this cell for a formula, and so run a module's name as a command.
bool begins_a_formula(const std::string& text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
}

bool is_number(const std::string& text) {
  double number = 0;
  const std::size_t sign = text[0] == '+' ? 1 : 0;
  const auto parsed = std::from_chars(text.data() + sign, text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

/// A name as a field, quoted as in RFC 4180. A quote (') precedes names that a spreadsheet would compute, for example
/// "=1+1" or "-σ..+σ".
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

/// The last three columns: the run's name, the step of the row or else of the tick, and the time of the tick in seconds
/// since 1970; unknown ones are empty.
std::string moment_fields(const std::string& run, const Tick& tick, uint64_t own_step) {
  const std::string time = tick.at.time > 0 ? number_text(tick.at.time) : "";
  const uint64_t step = own_step > 0 ? own_step : tick.at.step;
  return ',' + field(run) + ',' + (step > 0 ? std::to_string(step) : "") + ',' + time;
}

std::string value_row(double epoch, const RowValue& value, const std::string& moment) {
  return beginning(epoch, value.tag, layer_of(value), value.line) + number_text(value.value) + ",," + moment + '\n';
}

/// The line of a band has the names of both ends: "min..max".
std::string range_row(double epoch, const RowRange& range, const std::string& moment) {
  const std::string line = std::string(range.low_name) + ".." + range.high_name;
  return beginning(epoch, range.tag, layer_of(range), line) + ',' + number_text(range.low) + ',' +
         number_text(range.high) + moment + '\n';
}

/// A finding as a row; missing numbers are empty fields.
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

/// A ReadOldLine for CSV files. No line closes an epoch, so each row counts as complete.
bool read_row(std::istream& input, OldLine& line) {
  line = {};
  bool quoted = false;
  for (std::string part; !is_too_long(line.text);) {
    const bool is_whole = read_line(input, part) && !input.eof();
    line.text += part;
    if (!is_whole) return false;
    line.text += '\n';
    for (const char character : part) quoted = quoted != (character == '"');
    if (quoted) continue;  // the line end is within a quoted name
    double epoch = 0;
    const auto parsed = std::from_chars(line.text.data(), line.text.data() + line.text.size(), epoch);
    if (parsed.ec == std::errc() && *parsed.ptr == ',') line.epoch = epoch;
    line.closes_epoch = line.epoch.has_value();
    return true;
  }
  return false;
}

/// Writes findings to a second file: "run.findings.csv" for "run.csv". There is no such file without findings, or if
/// the output is not a file but, for example, a pipe.
class FindingsFile {
 public:
  /// @param values the path of the file of values
  FindingsFile(const OutputPath& values, const std::string& path, bool sync, const Host& host);

  void begin(const Run& run);
  void begin_tick(const Tick& tick);
  void finding(const loupe_finding& finding);
  /// Each of these throws Error if the file cannot be written.
  void end_tick();
  void flush();
  void end();

 private:
  void write(double epoch);

  OutputPath values_, path_;
  Host host_;
  EpochFile file_;
  std::unique_ptr<detail::Owned<loupe_run>> waiting_run_;  // kept until there is something to write
  std::filesystem::path waiting_path_;                     // so that a link created later is not followed
  bool takes_any_ = false, has_earlier_ = false, in_tick_ = false, ticked_ = false;
  double epoch_ = 0, last_epoch_ = 0;
  std::string text_;
};

namespace fs = std::filesystem;

std::string beside(const std::string& values) {
  fs::path path(values);
  const std::string extension = path.extension().string();
  return path.replace_extension(".findings" + (extension.empty() ? ".csv" : extension)).string();
}

FindingsFile::FindingsFile(const OutputPath& values, const std::string& path, bool sync, const Host& host)
    : values_(values), path_(beside(path)), host_(host), file_(OutputPath(beside(path)), sync, &read_row, host) {}

void FindingsFile::begin(const Run& run) {
  std::error_code no_matter;
  const auto kind = fs::status(values_.in(run), no_matter).type();
  takes_any_ = kind == fs::file_type::regular || kind == fs::file_type::not_found;
  waiting_run_ = std::make_unique<detail::Owned<loupe_run>>(run);
  waiting_path_ = path_.in(run);
  in_tick_ = ticked_ = has_earlier_ = false;
  text_.clear();
  if (!takes_any_ || !fs::is_regular_file(waiting_path_, no_matter)) return;
  if ((run.flags & LOUPE_RUN_RESUMED) != 0) {
    has_earlier_ = true;
    return;
  }
  // A healthy run writes no findings, and an earlier run's file must not seem to be its own.
  try {
    keep_older(waiting_path_, run.start_time);
  } catch (const std::system_error& reason) {
    host_.warn("'" + waiting_path_.string() +
               "' belongs to an earlier run and cannot be moved away: " + reason.code().message());
  }
}

void FindingsFile::begin_tick(const Tick& tick) {
  epoch_ = tick.at.epoch;
  in_tick_ = true;
}

void FindingsFile::finding(const loupe_finding& finding) {
  if (!takes_any_) return;
  last_epoch_ = in_tick_ || !(finding.last_epoch > 0) ? epoch_ : finding.last_epoch;
  text_ += finding_row(last_epoch_, finding);
}

void FindingsFile::end_tick() {
  in_tick_ = false;
  ticked_ = true;
  // A resumed run drops earlier findings of the epochs that it repeats, even if it has none now.
  if (!text_.empty() || std::exchange(has_earlier_, false)) write(epoch_);
}

void FindingsFile::flush() {
  // A resumed run does not know its epoch before its first tick.
  if (!text_.empty() && !in_tick_ && (ticked_ || !has_earlier_)) write(last_epoch_);
}

void FindingsFile::end() {
  if (!text_.empty()) write(ticked_ || !has_earlier_ ? last_epoch_ : INFINITY);
  file_.end({finding_heading, "", ""});
}

void FindingsFile::write(double epoch) {
  if (const auto run = std::exchange(waiting_run_, nullptr)) file_.begin(run->get(), waiting_path_);
  has_earlier_ = false;
  file_.write(epoch, std::exchange(text_, ""), {finding_heading, "", ""});
}

class Csv : public Visualizer {
 public:
  static constexpr const char* name = "csv";
  static constexpr const char* help =
      "one tidy table: epoch, tag, layer, line, value, low, high, run, step, time; no histograms";
  static std::vector<const char*> gives() {
    return {
        "values.csv: a line a number, with epoch, tag, layer, line, value, low, high, run, step and time",
        "values.findings.csv: a line for each finding that is raised, changed or resolved; no file without findings"};
  }
  static constexpr const char* example = "csv: {path: numbers.csv}";
  static std::vector<Option> options() {
    return with_selection(
        {{"path", "values.csv", "the file; relative to the run's directory"},
         {"sync", false, "wait at each tick until the disk has it, so that it also survives a power cut"}});
  }

  Csv(const Options& options, const Host& host)
      : selection_(options, host),
        file_(OutputPath(options), options.get<bool>("sync"), &read_row, host),
        findings_(OutputPath(options), options.get<std::string>("path"), options.get<bool>("sync"), host) {}

  void begin(const Run& run) override {
    run_ = run.name;
    selection_.begin();
    findings_.begin(run);
    file_.begin(run);
  }
  void begin_tick(const Tick& tick) override {
    epoch_ = tick.at.epoch;
    tick_ = detail::known_part(tick);
    moment_ = moment_fields(run_, tick_, 0);
    selection_.begin_tick();
    text_.clear();
    findings_.begin_tick(tick);
  }
  void row(const Row& row) override {
    if (!selection_.takes(row)) return;
    const std::string own = row.step > 0 ? moment_fields(run_, tick_, row.step) : "";
    const std::string& moment = row.step > 0 ? own : moment_;
    each_value(row, [&](const RowValue& value) { text_ += value_row(epoch_, value, moment); });
    each_range(row, [&](const RowRange& range) { text_ += range_row(epoch_, range, moment); });
  }
  void finding(const loupe_finding& finding) override { findings_.finding(finding); }
  void end_tick() override {
    selection_.end_tick();
    std::string text;
    text.swap(text_);
    if (selection_.is_taken()) file_.write(epoch_, std::move(text), preamble());
    findings_.end_tick();
  }
  void flush() override { findings_.flush(); }
  void end(const Ending&) override {
    selection_.end();
    file_.end(preamble());
    findings_.end();
  }

 private:
  static Preamble preamble() { return {heading, "", ""}; }

  Selection selection_;
  EpochFile file_;
  FindingsFile findings_;
  double epoch_ = 0;
  Tick tick_{};  // only its time is used
  std::string run_, moment_, text_;
};

}  // namespace

}  // namespace loupe::csv

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"csv", LOUPE_VERSION, "The numbers as one table.", "the authors of Loupe", "MIT"}),
                  loupe::csv::Csv);
