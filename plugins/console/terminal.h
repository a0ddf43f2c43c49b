#pragma once

#include <loupe/draft/last_words.h>

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::console {

struct Size {
  std::size_t rows = 0, columns = 0;
  bool operator==(const Size& other) const { return rows == other.rows && columns == other.columns; }
};

/// Reserves the last rows of a terminal by a scroll region, so that the program's own output scrolls above them, as
/// package managers do for their progress bars. Libraries such as ncurses take over the whole screen and would hide
/// that output. The functions return the text to write, and do not move the cursor.
class Region {
 public:
  /// The lines at the bottom of the terminal, in place of those before. Each must be shorter than a row.
  std::string with(const std::vector<std::string>& lines, const Size& size);
  /// The text that restores the terminal; "" if nothing was changed.
  std::string removed();

 private:
  std::string cleared(const Size& size) const;
  std::size_t height_ = 0;
  Size size_;
};

/// One of the process's two output streams, and its destination.
class Terminal {
 public:
  /// @param to "stdout" or "stderr"  @param color "auto", "always" or "never"
  Terminal(const Host& host, const std::string& to, const std::string& color);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// A terminal that can rewrite its last line.
  bool is_live() const { return live_; }
  bool has_color() const { return color_; }
  /// The size now; 100 columns and no rows if unknown.
  Size size() const;
  /// Writes after the program's own output so far; as ASCII under LC_ALL=C. Throws std::system_error; EAGAIN if nobody
  /// reads, for which only the first write waits a few seconds.
  void write(const std::string& text);
  /// Says whether a Region stands there, whose rows a fatal signal is to give back.
  void keep_rows(bool kept) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int descriptor_;
  bool live_, ascii_, color_, is_unread_ = false;
  draft::LastWords last_words_;
};

}  // namespace loupe::console
