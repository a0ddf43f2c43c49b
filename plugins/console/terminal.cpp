#include "console/terminal.h"

#include <loupe/files/descriptor.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "console/text.h"

namespace loupe::console {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Only where the user says so: a locale that is not set at all says nothing of the terminal.
bool wants_ascii() {
  const char* locale = std::getenv("LC_ALL");
  return locale != nullptr && (std::strcmp(locale, "C") == 0 || std::strcmp(locale, "POSIX") == 0);
}

bool is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
}

}  // namespace

Terminal::Terminal(const std::string& to, const std::string& color)
    : name_(to),
      descriptor_(to == "stderr" ? STDERR_FILENO : STDOUT_FILENO),
      live_(::isatty(descriptor_) == 1 && !is_dumb()),
      ascii_(wants_ascii()),
      color_(color == "always" || (color == "auto" && live_ && !is_set("NO_COLOR"))) {}

std::size_t Terminal::width() const {
  constexpr std::size_t least = 20, usual = 100;
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<std::size_t>(size.ws_col, least);
  const char* columns = std::getenv("COLUMNS");
  const long wanted = columns != nullptr ? std::strtol(columns, nullptr, 10) : 0;
  return wanted > 0 ? std::max(static_cast<std::size_t>(wanted), least) : usual;
}

void Terminal::write(const std::string& text) const {
  // A failure of the program's own output is the program's to find: it keeps its buffer and its error flag.
  const FatalSignalsHeld held;
  if (descriptor_ == STDOUT_FILENO) {
    std::cout.flush();
    std::fflush(stdout);
  } else {
    std::cerr.flush();
    std::fflush(stderr);
  }
  write_all(descriptor_, ascii_ ? ascii(text) : text);
}

}  // namespace loupe::console
