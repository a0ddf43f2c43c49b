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

/// Reserves the last rows of a terminal by a scroll region, so that the program's own output scrolls above them.
/// Package managers do this for their progress bars. Libraries like ncurses take over the whole screen and would hide
/// that output. The functions return the text to write, and do not move the cursor.
class Region {
 public:
  /// Shows lines at the bottom of the terminal, instead of the earlier ones. Each must be shorter than a row.
  std::string with(const std::vector<std::string>& lines, const Size& size);
  /// The text that restores the terminal; "" if nothing was changed.
  std::string removed();

 private:
  std::string cleared(const Size& size) const;
  std::size_t height_ = 0;
  Size size_;
};

/// One of the two output streams of the process.
class Terminal {
 public:
  /// @param to "stdout" or "stderr"  @param color "auto", "always" or "never"
  Terminal(const Host& host, const std::string& to, const std::string& color);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Whether this is a terminal whose last line can be rewritten.
  bool is_live() const { return live_; }
  bool has_color() const { return color_; }
  /// The current size; 100 columns and no rows if unknown.
  Size size() const;
  /// Writes text after all earlier output of the program; as ASCII under LC_ALL=C. Throws std::system_error, EAGAIN if
  /// nobody reads. Only the first write waits a few seconds for a reader.
  void write(const std::string& text);
  /// Sets whether a Region is on this terminal, so that a fatal signal gives its rows back.
  void keep_rows(bool kept) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int descriptor_;
  bool live_, ascii_, color_, is_unread_ = false;
  draft::LastWords last_words_;
};

}  // namespace loupe::console
