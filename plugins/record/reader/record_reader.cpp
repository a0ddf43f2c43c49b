#include "record/reader/record_reader.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace loupe::replay {
namespace {

[[noreturn]] void fail_to_open(const std::string& file, const std::string& reason) {
  throw RecordError(file + ": error: the record cannot be read (" + reason +
                    "); give the folder of a run, or the file that 'record' wrote there");
}

}  // namespace

RecordReader::RecordReader(std::string file) : file_(std::move(file)) {
  try {
    input_ = std::make_unique<TextInput>(file_);
  } catch (const std::system_error& reason) {
    fail_to_open(file_, reason.code().message());
  } catch (const Error& reason) {
    fail_to_open(file_, reason.what());
  }
  file_ = input_->file().string();
  RecordLine line;
  number_ = 1;
  if (!read()) fail(cut_off_ != nullptr ? "the record's first epochs are not whole" : "the record is empty");
  try {
    parse_record_line(text_, line);
  } catch (const std::exception& e) {
    fail(std::string("this file is not a record (") + e.what() + "); give the folder of a run, or its record.jsonl");
  }
  if (line.kind != RecordLine::Kind::run) fail("a record begins with a line of the kind 'run'");
  try {
    run_ = parse_run_line(text_);
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

bool RecordReader::next(RecordLine& line) {
  ++number_;
  if (!read()) return false;
  try {
    parse(line);
  } catch (const RecordError&) {
    if (ended_by_line_end_) throw;
    cut_off_ = "a line";
    return false;
  }
  if (line.kind != RecordLine::Kind::run) return true;
  try {
    if (parse_run_line(text_).resumed) return true;
  } catch (const std::exception& e) {
    fail(e.what());
  }
  fail("another run begins here; give each run's record its own file");
}

bool RecordReader::read() {
  if (!read_line(*input_, text_)) {
    if (is_too_long(text_)) fail(too_long);
    if (input_->is_cut_off()) cut_off_ = "an epoch";
    if (input_->bad() && cut_off_ == nullptr) fail(input_->fault());
    return false;
  }
  ended_by_line_end_ = !input_->eof();
  return true;
}

void RecordReader::parse(RecordLine& line) const {
  try {
    parse_record_line(text_, line);
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

void RecordReader::fail(const std::string& what) const {
  throw RecordError(file_ + ":" + std::to_string(number_) + ": error: " + what);
}

bool is_record(const std::string& file) {
  if (!std::filesystem::is_regular_file(text_file_at(file))) return false;  // do not wait for a pipe
  try {
    const RecordReader reader(file);
    return true;
  } catch (const RecordError&) {
    return false;
  }
}

}  // namespace loupe::replay
