#pragma once

#include <loupe/files/text_pieces.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "record/file_stamp.h"
#include "record/run_summary.h"

namespace loupe::view {

/// Reads a record while it grows. Use from one thread.
class FollowedRecord {
 public:
  explicit FollowedRecord(std::filesystem::path record) : record_(std::move(record)) {}

  /// Reads up to about `most` bytes that came since the last call, or everything again if another record replaced it.
  /// Returns whether it has changed. damage() reports faults of the record.
  bool read_on(std::size_t most);
  /// Whether the record has more text than was read so far.
  bool is_behind() const { return behind_; }
  /// The fault of the record in one sentence, or "". The lines before the fault are still in summary().
  const std::string& damage() const { return damage_; }

  /// The summary of the lines read so far.
  const replay::RunSummary& summary() const { return summary_; }
  const FileStamp& stamp() const { return stamp_; }
  /// Whether the record has changed since it was read.
  bool is_outdated() const { return FileStamp::of(text_file_at(record_)) != stamp_; }

 private:
  void read(TextPieces& pieces, std::size_t most);
  void take(std::string_view text);

  std::filesystem::path record_;
  FileStamp stamp_;
  TextPieces::Place place_;  // how far the record was read
  std::string unfinished_;   // the beginning of a line that has no line end yet
  std::size_t lines_ = 0;
  bool behind_ = false;
  std::string damage_;
  replay::RecordLine line_;
  replay::RunSummary summary_;
};

}  // namespace loupe::view
