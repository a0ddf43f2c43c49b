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

/// A record that is read on as it grows. One thread.
class FollowedRecord {
 public:
  explicit FollowedRecord(std::filesystem::path record) : record_(std::move(record)) {}

  /// Reads what came since the last call, about `most` bytes of it, and everything again if another record replaced it.
  /// Returns whether it has changed. What is wrong with the record is in damage().
  bool read_on(std::size_t most);
  /// There is more in the record than was read so far.
  bool is_behind() const { return behind_; }
  /// What is wrong with the record, in one sentence; empty where nothing is. What stood before it is told all the same.
  const std::string& damage() const { return damage_; }

  /// What its lines say so far.
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
  std::string unfinished_;   // a line whose end was not there yet
  std::size_t lines_ = 0;
  bool behind_ = false;
  std::string damage_;
  replay::RecordLine line_;
  replay::RunSummary summary_;
};

}  // namespace loupe::view
