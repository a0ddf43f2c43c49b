#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "record/reader/record_line.h"
#include "record/run_summary.h"

namespace loupe {

/// The name of the file that `record` writes.
inline constexpr const char* record_name = "record.jsonl";

/// The text in one line of a terminal: "?" for line ends and tabs too.
inline std::string printable_line(std::string_view text) {
  return printable(text, U"");
}

/// The records at these paths: a file is one; a folder has its `record.jsonl`, in `merged` if `loupe merge` put that of
/// all processes there, or else those of its subfolders, in the order of their names. A record that was compressed
/// since is found under its former name. Throws UsageError for a folder without any.
std::vector<std::string> record_files(const std::vector<std::string>& paths);
/// The same for one path. Throws UsageError if it has several records.
std::string record_file(const std::string& path);

/// Shows the progress of reading records in a line on a terminal at standard error, if it takes more than a second. The
/// destructor erases the line. One at a time, while nothing else is written there.
class ReadingProgress {
 public:
  /// @param records  their number  @param shown  false if another writer uses the terminal at the same time
  explicit ReadingProgress(std::size_t records, bool shown = true);
  ~ReadingProgress() { clear(); }
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;

  /// Adds this number of records.
  void expect(std::size_t more) { records_ += more; }
  /// The next record is read from now on.
  void begin(const std::string& record);
  /// Takes a line of that record.
  void take(const replay::RecordLine& line);
  /// Erases the line, so that others can write.
  void clear();

 private:
  void draw(double now);

  std::size_t records_, record_number_ = 0, lines_ = 0;
  std::string record_;
  double epoch_ = 0, begun_, drawn_ = 0;  // seconds
  bool shown_, stands_ = false;
};

/// The records of a run's other processes, beside the record of rank 0.
struct OtherRanks {
  std::vector<std::string> records;
  std::string lacking;  ///< the ranks that have none, in a sentence; empty if all have one
};
/// None for a run of one process, and for a record of another rank. Those of a merged run lie beside its folder.
OtherRanks other_ranks(const std::string& record, const replay::RecordedRun& run);

/// Whether `loupe merge` put a record into the folder of its run.
bool is_merged(const std::string& record);

/// The settings of a rank.
struct RankSettings {
  int rank = 0;
  replay::RunSummary::SettingTexts settings;
};
/// A warning, as a record's line of a finding, that ranks ran with different settings; nullopt if they did not.
std::optional<replay::RecordLine> ranks_differ(const std::vector<RankSettings>& ranks, double last_epoch);

}  // namespace loupe
