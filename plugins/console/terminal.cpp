#include "console/terminal.h"

#include <loupe/files/descriptor.h>
#include <loupe/files/shared_output.h>
#include <loupe/text/environment.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "console/text.h"

namespace loupe::console {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Whether the user asked for ASCII: a missing locale does not show what the terminal supports.
bool wants_ascii() {
  const char* locale = std::getenv("LC_ALL");
  return locale != nullptr && (std::strcmp(locale, "C") == 0 || std::strcmp(locale, "POSIX") == 0);
}

bool is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
}

/// The error of a write of this many bytes that would raise a signal: an errno, or 0.
int what_hinders(int descriptor, std::size_t bytes) {
  pollfd end{descriptor, POLLOUT, 0};
  if (::poll(&end, 1, 0) > 0 && (end.revents & POLLERR) != 0) return EPIPE;
  rlimit limit{};
  struct stat file {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  if (::fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  const bool appends = (::fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
  const off_t place = appends ? file.st_size : ::lseek(descriptor, 0, SEEK_CUR);
  return static_cast<rlim_t>(place) + bytes > limit.rlim_cur ? EFBIG : 0;
}

std::atomic<int> reserved_on{-1};  // the stream of a terminal whose last rows are reserved; -1: none

/// Gives the reserved rows back. Runs in a signal handler.
void free_rows(void*, const char*, const char*, uint64_t) {
  static const char text[] =
      "\x1b"
      "7\x1b[r\x1b"
      "8\x1b[J";
  if (reserved_on >= 0) write_shared(reserved_on, text, sizeof text - 1, 100);
}

}  // namespace

Terminal::Terminal(const Host& host, const std::string& to, const std::string& color)
    : name_(to),
      descriptor_(to == "stderr" ? STDERR_FILENO : STDOUT_FILENO),
      live_(::isatty(descriptor_) == 1 && !is_dumb()),
      ascii_(wants_ascii()),
      color_(color == "always" || (color == "auto" && live_ && !is_set("NO_COLOR"))),
      last_words_(host, &free_rows, &reserved_on) {}

Terminal::~Terminal() {
  keep_rows(false);
}

void Terminal::keep_rows(bool kept) const {
  int own = descriptor_;
  if (kept) {
    reserved_on = own;
  } else {
    reserved_on.compare_exchange_strong(own, -1);
  }
}

Size Terminal::size() const {
  constexpr std::size_t least = 20, usual = 100;
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return {size.ws_row, std::max<std::size_t>(size.ws_col, least)};
  const auto columns = columns_in_environment();
  return {0, columns ? std::max(static_cast<std::size_t>(*columns), least) : usual};
}

void Terminal::write(const std::string& text) {
  FILE* const stream = descriptor_ == STDOUT_FILENO ? stdout : stderr;
  // Do not flush output that would fail: the program's own write must see the error.
  if (const int reason = what_hinders(descriptor_, ::__fpending(stream)); reason != 0)
    throw std::system_error(reason, std::generic_category());
  const int patience_ms = std::exchange(is_unread_, true) ? 0 : output_patience_ms;
  pollfd ready{descriptor_, POLLOUT, 0};
  if (::__fpending(stream) > 0 && ::poll(&ready, 1, patience_ms) == 0)
    throw std::system_error(EAGAIN, std::generic_category());
  // std::cout is not flushed: it shares C's buffer, or has a buffer that only the program's own threads may touch.
  std::fflush(stream);
  const std::string shown = ascii_ ? ascii(text) : text;
  const bool is_written = write_shared(descriptor_, shown.data(), shown.size(), patience_ms) == shown.size();
  is_unread_ = !is_written && errno == EAGAIN;
  if (!is_written) throw last_error();
}

namespace {

using Sequence = const std::string;  // never destroyed: consoles may be static objects
Sequence &escape = *new Sequence("\x1b"), &save = *new Sequence(escape + "7"), &restore = *new Sequence(escape + "8");
Sequence &index = *new Sequence(escape + "D"), &all_rows_scroll = *new Sequence(escape + "[r");
Sequence &clear_row = *new Sequence(escape + "[K"), &clear_below = *new Sequence(escape + "[J");

std::string up(std::size_t rows) {
  return escape + "[" + std::to_string(rows) + "A";
}
std::string row_begins(std::size_t row) {
  return escape + "[" + std::to_string(row) + ";1H";
}
std::string first_rows_scroll(std::size_t rows) {
  return escape + "[1;" + std::to_string(rows) + "r";
}

}  // namespace

std::string Region::with(const std::vector<std::string>& lines, const Size& size) {
  std::string text;
  if (height_ != lines.size() || !(size_ == size)) {
    text = cleared(size);
    height_ = lines.size();
    size_ = size;
    // Make room below the cursor and keep its column for the program. Setting the scroll region would move the cursor
    // to row 1.
    for (std::size_t i = 0; i < height_; ++i) text += index;
    text += up(height_) + save + first_rows_scroll(size.rows - height_) + restore;
  }
  text += save;
  for (std::size_t i = 0; i < height_; ++i) text += row_begins(size.rows - height_ + i + 1) + lines[i] + clear_row;
  return text + restore;
}

std::string Region::removed() {
  std::string text = cleared(size_);
  height_ = 0;
  return text;
}

/// @param size  the terminal's current size
std::string Region::cleared(const Size& size) const {
  if (height_ == 0) return "";
  std::string text = save + all_rows_scroll;
  if (size_ == size) {
    for (std::size_t i = 0; i < height_; ++i) text += row_begins(size.rows - height_ + i + 1) + clear_row;
    return text + restore;
  }
  // The row of the panel is unknown, but nothing else is below the cursor. If the program's line fills its row, the
  // terminal would erase the character under the cursor too, so write a blank first.
  return text + restore + save + " " + clear_below + restore;
}

}  // namespace loupe::console
