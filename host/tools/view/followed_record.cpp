#include "view/followed_record.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>

#include <exception>
#include <system_error>
#include <utility>

namespace loupe::view {

bool FollowedRecord::read_on(std::size_t most) {
  if (!behind_ && !is_outdated()) return false;
  // After a fault, read the record from its beginning: the faulty line may be correct now.
  const bool begins_anew = !damage_.empty();
  damage_.clear();
  behind_ = false;
  try {
    TextPieces pieces(record_, O_NOFOLLOW);
    const FileStamp now = FileStamp::of(pieces.status());
    const bool same_file = now.inode == stamp_.inode && now.device == stamp_.device;
    if (begins_anew || !same_file || !pieces.go_on(place_)) *this = FollowedRecord(std::move(record_));
    stamp_ = now;
    read(pieces, most);
  } catch (const std::system_error& e) {
    stamp_ = FileStamp::of(text_file_at(record_));
    damage_ = "the record cannot be read: " + e.code().message();
  } catch (const std::exception& e) {
    damage_ = e.what();
  }
  return true;
}

void FollowedRecord::read(TextPieces& pieces, std::size_t most) {
  for (std::size_t taken = 0; taken < most;) {
    const std::string_view piece = pieces.next();
    place_ = pieces.place();
    if (piece.empty()) {
      // The writer has not finished a line without a line end.
      if (lines_ == 0)
        throw Error(unfinished_.empty() ? "the record is empty" : "the record's first line is not whole yet");
      return;
    }
    taken += piece.size();
    std::size_t begin = 0;
    for (std::size_t end; (end = piece.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
      const std::string_view line = piece.substr(begin, end - begin);
      take(unfinished_.empty() ? line : unfinished_.append(line));
      unfinished_.clear();
    }
    unfinished_.append(piece.substr(begin));
    if (is_too_long(unfinished_)) throw Error("line " + std::to_string(lines_ + 1) + ": " + too_long);
  }
  behind_ = true;
}

void FollowedRecord::take(std::string_view text) try {
  replay::parse_record_line(text, line_);
  const bool is_run = line_.kind == replay::RecordLine::Kind::run;
  if (lines_ == 0 && !is_run) throw Error("a record begins with a line of the kind 'run'");
  if (lines_ > 0 && is_run && !replay::parse_run_line(text).resumed)
    throw Error("another run begins here; give each run's record its own file");
  summary_.take(line_, text);
  ++lines_;
} catch (const Error& e) {
  throw Error("line " + std::to_string(lines_ + 1) + ": " + e.what());
}

}  // namespace loupe::view
