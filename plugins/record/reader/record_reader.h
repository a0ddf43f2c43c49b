#pragma once

#include <loupe/files/gzip.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "record/reader/record_line.h"

namespace loupe::replay {

/// A faulty record: what() is `file:line: error: …`.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a record line by line, compressed or not. Throws RecordError for faults.
class RecordReader {
 public:
  /// Reads the run line.  @param file  if it was compressed meanwhile, the compressed file is read: text_file_at()
  /// Throws RecordError, also if the file cannot be read.
  explicit RecordReader(std::string file);

  const std::string& file() const { return file_; }
  const RecordedRun& run() const { return run_; }
  /// The incomplete part that was left out at the record's end: "a line" or, in a compressed record, "an epoch"; null
  /// if there is none. Known after next() has returned false.
  const char* cut_off() const { return cut_off_; }

  /// Reads the next line; returns false at the end. A further run line means that the run was resumed in the same
  /// record.
  bool next(RecordLine& line);
  /// The text of the last line from next(), as in the file.
  const std::string& text() const { return text_; }
  /// Throws RecordError about the last line from next().
  [[noreturn]] void fail(const std::string& what) const;

 private:
  bool read();
  void parse(RecordLine& line) const;

  std::string file_, text_;
  std::unique_ptr<TextInput> input_;
  std::size_t number_ = 0;
  bool ended_by_line_end_ = false;
  const char* cut_off_ = nullptr;
  RecordedRun run_;
};

/// Whether a file begins like a record.
bool is_record(const std::string& file);

}  // namespace loupe::replay
