#pragma once

#include <loupe/files/gzip.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "record/reader/record_line.h"

namespace loupe::replay {

/// A wrong record: what() has the fault as `file:line: error: …`.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a record line by line, compressed or not. What is wrong with it is a RecordError.
class RecordReader {
 public:
  /// Reads the run line.  @param file  may also name what is compressed by now: text_file_at() is read
  /// Throws RecordError, also when the file cannot be read.
  explicit RecordReader(std::string file);

  const std::string& file() const { return file_; }
  const RecordedRun& run() const { return run_; }
  /// What was cut off at the record's end and left out, "a line" or, of a compressed record, "an epoch"; null where
  /// nothing was. Known once next() was false.
  const char* cut_off() const { return cut_off_; }

  /// The next line; false at the record's end. A further run line is of a run that went on in the same record.
  bool next(RecordLine& line);
  /// The line that next() gave last, as it stands in the file.
  const std::string& text() const { return text_; }
  /// Throws RecordError about the line that next() gave last.
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

/// Whether a file begins as a record does.
bool is_record(const std::string& file);

}  // namespace loupe::replay
