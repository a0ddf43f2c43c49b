#pragma once

#include <string>

#include "console/region.h"

namespace loupe::console {

/// One of the process's two output streams, and what is at its other end.
class Terminal {
 public:
  /// @param to "stdout" or "stderr"  @param color "auto", "always" or "never"
  Terminal(const std::string& to, const std::string& color);

  /// A terminal that can rewrite its last line.
  bool is_live() const { return live_; }
  bool has_color() const { return color_; }
  /// As it is now; 100 columns, and no rows, where nobody says.
  Size size() const;
  /// Comes after what the program itself has printed so far; as ASCII under LC_ALL=C. Throws std::system_error.
  void write(const std::string& text) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int descriptor_;
  bool live_, ascii_, color_;
};

}  // namespace loupe::console
