#include "command/reading_progress.h"

#include <loupe/text/number_text.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "core/clock.h"
#include "core/text.h"

namespace loupe {
namespace {

constexpr double patience = 1, pause = 0.1;        // seconds
constexpr std::size_t lines_between_looks = 1024;  // at the clock

bool can_rewrite_a_line() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string(terminal) != "dumb";
}

}  // namespace

ReadingProgress::ReadingProgress(std::size_t records, bool shown)
    : records_(records), begun_(steady_time()), shown_(shown && can_rewrite_a_line()) {}

void ReadingProgress::begin(const std::string& record) {
  ++record_number_;
  record_ = record;
  epoch_ = 0;
}

void ReadingProgress::take(const replay::RecordLine& line) {
  if (!shown_) return;
  if (line.kind == replay::RecordLine::Kind::tick) epoch_ = line.epoch;
  if (++lines_ % lines_between_looks != 0) return;
  const double now = steady_time();
  if (now - begun_ >= patience && now - drawn_ >= pause) draw(now);
}

void ReadingProgress::draw(double now) {
  std::string text = "reading ";
  if (records_ > 1) text += "record " + std::to_string(record_number_) + " of " + std::to_string(records_) + ", ";
  text += "epoch " + number_text(epoch_) + " of '" + printable_line(record_) + "'";
  // A line that breaks could not be taken back.
  constexpr std::size_t usual_columns = 80;
  text = shortened_end(text, terminal_columns(STDERR_FILENO).value_or(usual_columns) - 1);
  std::cerr << "\r" << text << "\x1b[K" << std::flush;
  drawn_ = now;
  stands_ = true;
}

void ReadingProgress::clear() {
  if (stands_) std::cerr << "\r\x1b[K" << std::flush;
  stands_ = false;
}

}  // namespace loupe
